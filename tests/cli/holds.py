# SPDX-License-Identifier: BSD-2-Clause
"""usage: holds.py EXPRESSION FILE...

A Python expression that must hold of r, a list with a dictionary for each record of the
files, in their order: name -> list of values (int, float, bytes)."""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from records import example, frames  # noqa: E402


def doubles(v):
    return list(struct.unpack(f"<{len(v[0]) // 8}d", v[0]))


def near(a, b, rel=1e-12):
    return len(a) == len(b) and all(math.isclose(x, y, rel_tol=rel) for x, y in zip(a, b))


def main():
    r = [example(d) for name in sys.argv[2:] for d in frames(pathlib.Path(name).read_bytes())]
    if not eval(sys.argv[1], {**globals(), "r": r}):
        print("does not hold:", sys.argv[1])
        for one in r[:4]:
            print({k: v if len(str(v)) < 300 else "..." for k, v in one.items()})
        sys.exit(1)


if __name__ == "__main__":
    main()
