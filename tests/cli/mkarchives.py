#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: mkarchives.py WHAT OUT: archives for the tests, of small PNG pictures."""
import io
import json
import struct
import sys
import tarfile
import zipfile
import zlib


def png(shade, side=4):
    """A grey picture."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([shade] * side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def add(tar, name, data, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))


def names(out):
    """Names of every kind a tar may hold: long, from the root, with "..", hidden, links."""
    with tarfile.open(out, "w", format=FORMAT) as tar:
        add(tar, "cat/" + "a" * 150 + "/" + "b" * 120 + ".png", png(1))
        add(tar, "/cat/root.png", png(2))
        add(tar, "cat/../dog/x.png", png(3))
        add(tar, "./dog/\u732b.png", png(4))
        add(tar, "dog/.hidden.png", png(5))
        add(tar, "__MACOSX/dog/x.png", png(6))
        add(tar, "dog/notes.xml", b"<a/>")
        add(tar, "dog/picture", png(7))
        add(tar, "dog/link.png", b"", type=tarfile.LNKTYPE, linkname="cat/root.png")
        add(tar, "dog/soft.png", b"", type=tarfile.SYMTYPE, linkname="x.png")


def classes(out, kind):
    """Six pictures in class folders, as a tar or zip."""
    items = [(f"{c}/{i}.png", png(10 * n + i)) for n, c in enumerate(("cat", "dog")) for i in range(3)]
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            for name, data in items:
                z.writestr(name, data)
    else:
        with tarfile.open(out, "w") as tar:
            for name, data in items:
                add(tar, name, data)


def groups(out, n, mode="w"):
    """As WebDataset writes them."""
    with tarfile.open(out, mode) as tar:
        for i in range(n):
            key = f"{i:06d}"
            add(tar, key + ".png", png(i % 256))
            add(tar, key + ".cls", str(i % 5).encode())
            add(tar, key + ".json", json.dumps({"id": i, "score": i / 4, "who": f"p{i}", "tags": ["a", "b"],
                                                "good": i % 2 == 0, "none": None, "box": {"x": i}}).encode())
            add(tar, key + ".txt", f"text {i}".encode())
            add(tar, key + ".mask.png", png(255 - i % 256))
            add(tar, key + ".log", b"?")


def many(out, n):
    """More members than a zip without 64-bit fields can have."""
    data = png(0, 1)
    with zipfile.ZipFile(out, "w") as z:
        for i in range(n):
            z.writestr(zipfile.ZipInfo(f"c/{i:06d}.png"), data)


FORMAT = tarfile.PAX_FORMAT
what, path = sys.argv[1:3]
if what in ("pax", "gnu"):
    FORMAT = tarfile.GNU_FORMAT if what == "gnu" else FORMAT
    names(path)
elif what in ("zip", "tar"):
    classes(path, what)
elif what == "groups":
    groups(path, int(sys.argv[3]), *sys.argv[4:])
elif what == "many":
    many(path, int(sys.argv[3]))
else:
    sys.exit(__doc__)
