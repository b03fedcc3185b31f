# SPDX-License-Identifier: BSD-2-Clause
"""HDF5 files: the same numbers as h5py, or those that it gave when the files were made."""
import hashlib
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import numpy as np

from records import example, frames, records

try:
    import h5py
except ImportError:
    h5py = None

PROGRAM = os.environ.get("TUNDISH_PROGRAM") or os.environ["TUNDISH"]
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/formats/hdf5"
SHARED = pathlib.Path(os.environ.get("TUNDISH_SHARED") or GOLDEN.parents[3].parent / "shared")
FIXTURES = SHARED / "fixtures/formats"
KINDS = GOLDEN / "kinds.h5"
FOLDERS = tempfile.TemporaryDirectory(prefix="tundish-hdf5-")


def convert(source, *more, code=0):
    """Converts, in the order of the file; the folder and what was said."""
    out = pathlib.Path(tempfile.mkdtemp(dir=FOLDERS.name))
    done = subprocess.run([PROGRAM, "convert", source, "-o", out / "set", "--shards", "1", "--order", "keep", *more],
                          capture_output=True, check=False, timeout=120)
    text = done.stderr.decode(errors="replace")
    if done.returncode != code:
        raise AssertionError(f"{source}: exit code {done.returncode}, not {code}: {text}")
    return out, text


def array(source, *more):
    """All items of a dataset one after another, as bytes."""
    out = subprocess.run([PROGRAM, "convert", source, "-o", "-", "--order", "keep", *more], capture_output=True,
                         check=False, timeout=120)
    if out.returncode:
        raise AssertionError(f"{source}: {out.stderr.decode(errors='replace')}")
    items = (example(data) for data in frames(out.stdout))
    return b"".join((r.get("image") or r["image/value"])[0] for r in items)


class Fixtures(unittest.TestCase):
    def expect(self):
        """(file, dataset, hash) of all arrays that the notes beside the fixtures have."""
        file = None
        section = (FIXTURES / "EXPECT.md").read_text(encoding="utf-8").split("\n## HDF5\n")[1].split("\n## ")[0]
        for line in section.splitlines():
            if line.startswith("== "):
                file = line.split()[1]
            found = re.match(r"   (\S+) \((.*?)\) .* sha\(native\) ([0-9a-f]{64})", line)
            if found and found[2] and not found[2].startswith("0,"):
                yield file, found[1], found[3]

    @unittest.skipUnless(FIXTURES.is_dir(), "no ../shared")
    def test_values(self):
        count = 0
        for file, dataset, want in self.expect():
            source = f"{FIXTURES}/hdf5/{file}:/{dataset}"
            if file == "made/plugin_filters.h5":
                text = convert(source, code=3)[1]
                self.assertRegex(text, rf"dataset /{dataset} needs HDF5 filter 320\d\d \(.*\), not available; set HDF5_P")
            elif file == "made/latest_format.h5" and dataset != "ea":
                # needs a library that knows this form; told plainly without
                done = subprocess.run([PROGRAM, "convert", source, "-o", "-"], capture_output=True, check=False)
                self.assertTrue(done.returncode == 0 or b"does it need a newer HDF5 library" in done.stderr, done.stderr)
            else:
                with self.subTest(file=file, dataset=dataset):
                    self.assertEqual(hashlib.sha256(array(source)).hexdigest(), want)
            count += 1
        self.assertGreater(count, 65)


class Golden(unittest.TestCase):
    IMAGES = "43c9e10eb68079ac7bb96459ed55057f8aca93e707651b904807691f631b48a7"

    def test_layouts(self):
        for dataset in ("images_contig", "images_grow", "images_gzip", "images_lzf"):
            got = hashlib.sha256(array(f"{GOLDEN}/nhwc_layouts.h5:/{dataset}")).hexdigest()
            self.assertEqual(got, self.IMAGES, dataset)
        self.assertEqual(array(f"{GOLDEN}/nhwc_layouts.h5:/fill_never_written"), b"\7\0" * 5 * 64)
        self.assertEqual(array(f"{GOLDEN}/userblock512.h5"), np.arange(6, dtype="<i4").tobytes())

    def test_round_trip(self):
        """Through records and out again as NumPy files: equal arrays."""
        out = convert(f"{GOLDEN}/nhwc_layouts.h5:/images_gzip")[0]
        subprocess.run([PROGRAM, "inspect", out, "--extract", out / "x"], check=True, capture_output=True)
        arrays = np.stack([np.load(file) for file in sorted((out / "x").glob("*.npy"))])
        self.assertEqual(arrays.shape, (10, 32, 32, 3))
        self.assertEqual(hashlib.sha256(arrays.tobytes()).hexdigest(), self.IMAGES)

    def test_columns(self):
        got = records(convert(f"{KINDS}:/images,label=/enum,name=/text,columns=/short:/lists:flag=/flag:/float64:"
                              "bbox=/rows/bbox:/rows/weight:/packed_rows/text")[0])
        self.assertEqual([r["text"][0].decode() for r in got], [f"t\u00e9xt {i}" for i in range(7)])
        self.assertEqual([r["name"][0].decode() for r in got], [f"\u00fc{i % 2}" for i in range(7)])
        self.assertEqual([r["short"][0] for r in got], [b"ab", b"cd", b"", b"x", b"y", b"z", b"ab"])
        self.assertEqual([r["lists"] for r in got], [list(range(i)) for i in range(7)])
        self.assertEqual([r["flag"] for r in got], [[1], [0], [1], [0], [1], [0], [1]])
        self.assertEqual({len(r["bbox"]) for r in got}, {4})
        self.assertEqual({len(r["float64"]) for r in got}, {2})


class Forged(unittest.TestCase):
    """Never a crash, whatever stands in a file, though the library crashes on some."""

    def run_on(self, data, spec=""):
        path = pathlib.Path(FOLDERS.name) / "forged.h5"
        path.write_bytes(data)
        said = b""
        for arguments in (["convert", f"{path}{spec}", "-o", "-"], ["inspect", path]):
            done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False, timeout=100)
            self.assertIn(done.returncode, (0, 1, 3), (arguments, done.stderr))
            said += done.stderr
        return said

    def test_drawn(self):
        draw = random.Random(5)
        cases = GOLDEN.parents[1] / "cases"
        for file, spec in ((KINDS, ":/images,label=/enum,columns=/lists:/text:/rows/bbox:/complex"),
                           (cases / "88-h5-encoded-bytes/vlen.h5", ""), (cases / "85-h5-missing-filter/lzf.h5", ""),
                           (cases / "88-h5-encoded-bytes/one-per-name.h5", "")):
            whole = file.read_bytes()
            for _ in range(12):
                data = bytearray(whole)
                for _ in range(draw.choice((1, 2, 8))):
                    at = draw.randrange(min(len(data), 6000) - 8)
                    new = draw.choice((b"\xff", b"\0", b"\x80", bytes([draw.randrange(256)]), b"\xff" * 8, b"\0" * 4))
                    data[at:at + len(new)] = new
                self.run_on(data[:draw.choice((len(data), len(data), draw.randrange(len(data))))], spec)

    # bytes of a file of the fixtures on which version 1.10.8 of the library crashes
    CRASHES = [{2089: 0}, {6488: 127}, {6576: 0, 6577: 0, 6578: 0, 7806: 9}, {i: 255 for i in range(2382, 2390)}]

    @unittest.skipUnless(FIXTURES.is_dir(), "no ../shared")
    def test_known(self):
        whole = (FIXTURES / "hdf5/pyfive_attr_datatypes.hdf5").read_bytes()
        for changes in self.CRASHES:
            data = bytearray(whole)
            for at, value in changes.items():
                data[at] = value
            self.assertNotIn(b"HDF5-DIAG", self.run_on(data))

    def test_damaged_chunk(self):
        data = bytearray((GOLDEN.parents[1] / "cases/85-h5-missing-filter/gzip-shuffle.h5").read_bytes())
        data[6000] ^= 1
        path = pathlib.Path(FOLDERS.name) / "damaged.h5"
        path.write_bytes(data)
        for threads in (1, 8):
            out, text = convert(path, "-j", str(threads), code=1)
            self.assertEqual(len(records(out)), 5)
            self.assertIn("damaged.h5: record 2: dataset /images: damaged chunk: its checksum is", text)


@unittest.skipUnless(h5py, "no h5py")
class AgainstH5py(unittest.TestCase):
    def same(self, dataset, want, *more):
        want = np.ascontiguousarray(want)
        want = want.astype(want.dtype.newbyteorder("<")).tobytes()
        self.assertEqual(array(f"{KINDS}:{dataset}", *more), want, dataset)

    def test_arrays(self):
        with h5py.File(KINDS) as file:
            for name in ("images", "scaled", "compact", "bitfield", "float64", "whole", "one_axis_more"):
                self.same(f"/{name}", file[name][()])
            self.same("/complex", file["complex"][()])
            self.same("/enum", file["enum"][()])
            self.same("/flag", file["flag"][()])
            self.same("/to_dataset", file["images"][()])
            for name in ("rows", "packed_rows"):
                rows = file[name][()]
                for member in ("label", "bbox", "img", "weight", "phase"):
                    self.same(f"/{name}/{member}", rows[member])
            self.same("/bits20", np.arange(-3, 4, dtype="i4"))
            self.same("/bytes3", np.arange(7, dtype="u4") * 70000)
            self.same("/lists", np.concatenate([np.arange(i, dtype="i4") for i in range(7)]))  # h5py errs here
            self.same("/train/*/image", np.stack([file[f"train/{i:03}/image"][()] for i in range(3)]))
            for name in ("outer", "virtual"):
                self.same(f"/{name}", file[name][()], "--follow-external")
        # h5py looks for external files where it runs, not beside the file
        self.same("/raw", np.fromfile(GOLDEN / "sub/raw.bin", "<i2"), "--follow-external")

    def test_labels(self):
        with h5py.File(KINDS) as file:
            for source, want in (("/images,label=/rows/label", file["rows"]["label"]),
                                 ("/images,label=/whole", file["whole"][()].astype(int)),
                                 ("/images,label=/one_axis_more", file["one_axis_more"][:, 0]),
                                 ("/train/*/image,label=/train/*/label", [0, 1, 0])):
                got = [r["label"][0] for r in records(convert(f"{KINDS}:{source}")[0])]
                self.assertEqual(got, list(want), source)
        for source, want in (("/enum", [b"cat", b"dog", b"eel", b"dog", b"cat", b"cat", b"dog"]),
                             ("/flag", [b"TRUE", b"FALSE"] * 3 + [b"TRUE"])):
            folder = convert(f"{KINDS}:/images,label={source}")[0]
            names = (folder / "label.labels.txt").read_bytes().split()
            self.assertEqual(names, sorted(set(want)))
            self.assertEqual([names[r["label"][0]] for r in records(folder)], want)

    def test_long_rows_in_small_memory(self):
        """Chunks that cut through rows, more of them than the memory has room for."""
        path = pathlib.Path(FOLDERS.name) / "long.h5"
        data = np.random.default_rng(2).integers(0, 1 << 15, (40, 300, 200), dtype="u2")
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=data, chunks=(16, 64, 64), compression="gzip", compression_opts=1,
                                shuffle=True)
        for threads in (1, 8):
            self.assertEqual(array(f"{path}:/x", "--threads", str(threads), "--memory", "1M"),
                             data.astype("<u2").tobytes())

    def test_a_side_of_zero(self):
        path = pathlib.Path(FOLDERS.name) / "zero.h5"
        with h5py.File(path, "w") as file:
            file["images"] = np.zeros((5, 0, 3), "u1")
        self.assertIn("/images: its items have no elements", convert(f"{path}:/images", code=3)[1])


if __name__ == "__main__":
    unittest.main()
