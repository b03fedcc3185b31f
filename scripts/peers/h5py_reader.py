# SPDX-License-Identifier: BSD-2-Clause
"""h5py: a packed dataset, made, or read row by row of chunks.

usage: h5py_reader.py make FILE ROWS | read FILE"""
import sys
import time

import h5py
import numpy as np

SIDE, ROWS = 224, 8


def make(path, rows):
    """Pictures that pack to about a third, as photographs of a microscope do."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 8, (ROWS, SIDE, SIDE, 3), dtype=np.uint8)
    down, across = np.mgrid[:SIDE, :SIDE]
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (rows, SIDE, SIDE, 3), "u1", chunks=(ROWS, SIDE, SIDE, 3),
                                     compression="gzip", shuffle=True)
        for first in range(0, rows, ROWS):
            ramp = across * (1 + first % 5) // 2 + down
            images[first:first + ROWS] = ((ramp[None, :, :, None] + noise) & 255).astype(np.uint8)


def read(path):
    with h5py.File(path) as file:
        images = file["images"]
        start, count = time.perf_counter(), 0
        for first in range(0, len(images), ROWS):
            count += len(images[first:first + ROWS])
    print(f"{count} images {time.perf_counter() - start:.3f} s")


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    read(sys.argv[2])
