# SPDX-License-Identifier: BSD-2-Clause
"""usage: make_kinds.py FOLDER

Makes kinds.h5 and what it points to: an element type, layout or link of each kind, with
h5py. tests/golden/formats/hdf5 holds what this made with h5py 3.16 and HDF5 2.0."""
import pathlib
import sys

import h5py
import numpy as np

ROWS = 7


def compound(images, rng):
    kind = np.dtype([("label", "<i4"), ("bbox", ">f4", (4,)), ("img", "u1", images.shape[1:]), ("short", "S8"),
                     ("text", h5py.string_dtype()), ("weight", "<f8"), ("phase", "<c8")])
    rows = np.zeros(ROWS, kind)
    rows["label"] = rng.integers(0, 3, ROWS)
    rows["bbox"] = rng.random((ROWS, 4))
    rows["img"] = images
    rows["short"] = [b"n%d" % i for i in range(ROWS)]
    rows["text"] = [f"t\u00e9xt {i}" for i in range(ROWS)]
    rows["weight"] = rng.random(ROWS)
    rows["phase"] = rng.random(ROWS) + 1j
    return rows


def odd_types(file):
    """Layouts of numbers that NumPy has not."""
    space = h5py.h5s.create_simple((ROWS,))
    everything = h5py.h5s.ALL
    bits20 = h5py.h5t.STD_I32LE.copy()
    bits20.set_precision(20)
    bytes3 = h5py.h5t.STD_U32BE.copy()
    bytes3.set_size(3)
    for name, kind, values in (("bits20", bits20, np.arange(-3, 4, dtype="i4")),
                               ("bytes3", bytes3, np.arange(7, dtype="u4") * 70000),
                               ("bitfield", h5py.h5t.STD_B16LE, None)):
        data = h5py.h5d.create(file.id, name.encode(), kind, space)
        if values is not None:
            data.write(everything, everything, values)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    data = h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I16BE, space, plist)
    data.write(everything, everything, np.arange(ROWS, dtype="i2"))


def columns(file, rng):
    animals = h5py.enum_dtype({"cat": 3, "dog": 1, "eel": -2}, basetype=">i2")
    file.create_dataset("enum", data=np.array([3, 1, -2, 1, 3, 3, 1], "i2"), dtype=animals)
    file["flag"] = np.array([1, 0, 1, 0, 1, 0, 1], bool)
    file["short"] = np.array([b"ab", b"cd", b"", b"x", b"y", b"z", b"ab"], "S4")
    file.create_dataset("text", data=[f"\u00fc{i % 2}" for i in range(ROWS)], dtype=h5py.string_dtype())
    lists = file.create_dataset("lists", shape=(ROWS,), dtype=h5py.vlen_dtype(">i4"))
    for i in range(ROWS):
        lists[i] = np.arange(i)
    file["complex"] = (rng.random((ROWS, 2)) + 1j * rng.random((ROWS, 2))).astype(">c16")
    file["float64"] = rng.random((ROWS, 2))
    file["whole"] = np.array([2.0, 0, 1, 1, 0, 2, 2])
    file["one_axis_more"] = rng.integers(0, 3, (ROWS, 1))


def links(file, folder):
    file["to_dataset"] = h5py.SoftLink("/images")
    file["ring"] = h5py.SoftLink("/ring2")
    file["ring2"] = h5py.SoftLink("ring")
    file["outer"] = h5py.ExternalLink("sub/other.h5", "/y")
    file["above"] = h5py.ExternalLink("../kinds.h5", "/y")
    file["absent"] = h5py.ExternalLink("absent.h5", "/y")
    np.arange(70, dtype="<i2").tofile(folder / "sub/raw.bin")
    for name, pieces in (("raw", [("sub/raw.bin", 0, 60), ("sub/raw.bin", 60, h5py.h5f.UNLIMITED)]),
                         ("raw_absent", [("sub/absent.bin", 0, 140)]), ("raw_short", [("sub/raw.bin", 20, 140)])):
        file.create_dataset(name, shape=(ROWS, 10), dtype="<i2", external=pieces)
    for name, source, dataset in (("virtual", "sub/other.h5", "y"), ("virtual_absent", "sub/absent.h5", "y"),
                                  ("virtual_nothing", "sub/other.h5", "nothing")):
        layout = h5py.VirtualLayout((ROWS, 4), "i4")
        layout[:4] = h5py.VirtualSource(source, dataset, (4, 4))
        layout[4:] = h5py.VirtualSource("sub/other.h5", "z", (3, 4))
        file.create_virtual_dataset(name, layout, fillvalue=-1)


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "sub").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    images = rng.integers(0, 255, (ROWS, 5, 6, 3), dtype=np.uint8)
    with h5py.File(folder / "sub/other.h5", "w") as file:
        file["y"] = np.arange(16, dtype="i4").reshape(4, 4)
        file["z"] = np.arange(12, dtype="i4").reshape(3, 4)
    with h5py.File(folder / "kinds.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(2, 3, 4, 3), compression="gzip", fletcher32=True)
        file["rows"] = compound(images, rng)
        file.create_dataset("packed_rows", data=file["rows"][()], chunks=(3,), compression="gzip", shuffle=True,
                            fletcher32=True)
        file.create_dataset("scaled", data=rng.integers(0, 1000, (ROWS, 20), dtype="i4"), chunks=(3, 7),
                            scaleoffset=0)
        for i in range(3):
            file[f"train/{i:03}/image"] = images[i]
            file[f"train/{i:03}/label"] = i % 2
            file[f"train/{i:03}/box"] = np.arange(4.0) + i
        odd_types(file)
        columns(file, rng)
        links(file, folder)


main()
