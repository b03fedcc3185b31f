# SPDX-License-Identifier: BSD-2-Clause
"""zlib at level 6, one thread, one GZIP stream a file.

usage: zlib_writer.py OUT FILE..."""
import pathlib
import sys
import zlib

out, files = pathlib.Path(sys.argv[1]), sys.argv[2:]
out.mkdir(exist_ok=True)
for path in map(pathlib.Path, files):
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)
    with path.open("rb") as source, (out / path.name).open("wb") as target:
        while piece := source.read(1 << 20):
            target.write(stream.compress(piece))
        target.write(stream.flush())
