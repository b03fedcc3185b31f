# SPDX-License-Identifier: BSD-2-Clause
"""MosaicML streaming's writer: the photographs into its shards, bytes kept.

usage: mosaic_writer.py PHOTOS OUT"""
import pathlib
import sys

from streaming import MDSWriter

import clock

files = sorted(pathlib.Path(sys.argv[1]).iterdir())
sink = MDSWriter(out=f"{sys.argv[2]}/mds", columns={"image": "bytes", "label": "int"}, size_limit="64mb")


def put(number, data):
    if data is None:
        sink.finish()
    else:
        sink.write({"image": data, "label": number % 10})


clock.write(files, put)
