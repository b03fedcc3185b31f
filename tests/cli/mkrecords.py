#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: mkrecords.py FILE FIRST COUNT [BYTES]

Writes COUNT records, written from the format's description and not with our code:
record i holds label i % 3, id i and BYTES bytes of data."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from records import frame, message  # noqa: E402


def main():
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    size = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    with open(path, "wb") as out:
        for i in range(first, first + count):
            data = (b"%d " % i * size)[:size]
            out.write(frame(message({"label": i % 3, "id": i, "data": data})))


if __name__ == "__main__":
    main()
