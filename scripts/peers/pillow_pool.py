# SPDX-License-Identifier: BSD-2-Clause
"""Pillow in a pool of processes: photographs decoded, made smaller and encoded as JPEG.

usage: pillow_pool.py PROCESSES SHORTER-SIDE QUALITY PHOTOS OUT   (side 0: as large as they are)"""
import io
import multiprocessing
import os
import pathlib
import sys
import time

import PIL.Image

import clock

processes, side, quality = map(int, sys.argv[1:4])


def prepare(path):
    image = PIL.Image.open(path)
    if image.mode not in ("L", "RGB"):
        image = image.convert("RGB")
    shorter = min(image.size)
    if side and shorter > side:
        size = tuple(max(1, length * side // shorter) for length in image.size)
        image = image.resize(size, PIL.Image.Resampling.BILINEAR)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


if __name__ == "__main__":
    files = sorted(pathlib.Path(sys.argv[4]).iterdir())
    with multiprocessing.Pool(processes) as pool:
        pool.map(prepare, files[:processes])
        start = time.perf_counter()
        with open(f"{sys.argv[5]}/all", "wb") as out:
            for data in pool.imap(prepare, files, chunksize=8):
                out.write(data)
        os.sync()
        clock.report(len(files), time.perf_counter() - start)
