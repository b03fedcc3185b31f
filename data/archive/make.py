#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: make.py OUT: a tar of 12 drawn pictures with classes and notes, as WebDataset writes them."""
import io
import json
import struct
import sys
import tarfile
import zlib

SIDE = 32
CLASSES = ("rows", "columns", "checks")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(what, width):
    """Stripes or checks of that width."""
    inside = {"rows": lambda y, x: y // width % 2, "columns": lambda y, x: x // width % 2,
              "checks": lambda y, x: (y // width + x // width) % 2}[what]
    rows = b"".join(b"\0" + b"".join(b"\x20\x60\xa0" if inside(y, x) else b"\xf0\xe0\xc0" for x in range(SIDE))
                    for y in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9))
            + chunk(b"IEND", b""))


with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(12):
        name, width = CLASSES[i % 3], 1 << i // 3
        note = json.dumps({"width_pixels": width, "share": 0.5, "made": "drawn"})
        for suffix, data in (("png", picture(name, width)), ("cls", name.encode()), ("json", note.encode())):
            member = tarfile.TarInfo(f"{i:06d}.{suffix}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
