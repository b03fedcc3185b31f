# SPDX-License-Identifier: BSD-2-Clause
"""usage: data/hdf5/make.py

Draws shapes.h5 anew, with h5py 3.16: 48 grey pictures of circles, squares and triangles in
packed chunks, their kinds as an enumeration, and where they stand."""
import pathlib

import h5py
import numpy as np

KINDS = {"circle": 0, "square": 1, "triangle": 2}
SIDE = 24


def draw(kind, x, y, size):
    down, across = np.mgrid[:SIDE, :SIDE]
    if kind == KINDS["circle"]:
        inside = (across - x) ** 2 + (down - y) ** 2 <= size ** 2
    elif kind == KINDS["square"]:
        inside = np.maximum(abs(across - x), abs(down - y)) <= size
    else:
        inside = (abs(across - x) * 2 <= down - y + size) & (down - y <= size)
    return np.where(inside, 220, 30).astype(np.uint8)


def main():
    rng = np.random.default_rng(48)
    kinds = np.arange(48) % 3
    places = rng.integers(8, 16, (48, 2))
    sizes = rng.integers(3, 8, 48)
    images = np.stack([draw(k, x, y, s) for k, (x, y), s in zip(kinds, places, sizes)])
    with h5py.File(pathlib.Path(__file__).parent / "shapes.h5", "w") as file:
        file.create_dataset("images", data=images[..., None], chunks=(8, SIDE, SIDE, 1), compression="gzip")
        file.create_dataset("labels", data=kinds, dtype=h5py.enum_dtype(KINDS, basetype="u1"))
        file["place"] = places.astype("<f4")
        file["images"].attrs["made"] = "by data/hdf5/make.py"


main()
