#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: make.py

Writes beside it stripes.tar, 12 drawn pictures with classes and notes as WebDataset writes
them, and stripes.zip, the same pictures in class folders."""
import io
import json
import pathlib
import struct
import tarfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
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


def items():
    for i in range(12):
        yield f"{i:06d}", CLASSES[i % 3], 1 << i // 3


with tarfile.open(HERE / "stripes.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for key, name, width in items():
        note = json.dumps({"width_pixels": width, "share": 0.5, "made": "drawn"})
        for suffix, data in (("png", picture(name, width)), ("cls", name.encode()), ("json", note.encode())):
            member = tarfile.TarInfo(f"{key}.{suffix}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
with zipfile.ZipFile(HERE / "stripes.zip", "w") as packed:
    for key, name, width in items():
        packed.writestr(zipfile.ZipInfo(f"{name}/{key}.png"), picture(name, width))
