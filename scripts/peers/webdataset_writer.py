# SPDX-License-Identifier: BSD-2-Clause
"""WebDataset's writer: the photographs into tar shards, bytes kept.

usage: webdataset_writer.py PHOTOS OUT"""
import pathlib
import sys

import webdataset

import clock

files = sorted(pathlib.Path(sys.argv[1]).iterdir())
sink = webdataset.ShardWriter(f"{sys.argv[2]}/web-%05d.tar", maxcount=-(-len(files) // 8), verbose=0)


def put(number, data):
    if data is None:
        sink.close()
    else:
        sink.write({"__key__": files[number].stem, "jpg": data, "cls": number % 10})


clock.write(files, put)
