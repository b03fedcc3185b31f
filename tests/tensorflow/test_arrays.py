# SPDX-License-Identifier: BSD-2-Clause
"""Cubes, spectra and columns of tables, opened by TFDS."""
import unittest

import numpy as np
import tensorflow_datasets as tfds

from common import ROOT, folder, tundish

ARRAYS = ROOT / "data/arrays"


def opened(out):
    builder = tfds.builder_from_directory(str(out))
    return builder, list(tfds.as_numpy(builder.as_dataset(split="train")))


class Arrays(unittest.TestCase):
    def test_spectra(self):
        """float64 features are raw bytes, which TFDS knows."""
        out = folder("spectra")
        tundish("convert", ARRAYS / "lamp.spe", "-o", out / "lamp")
        _, found = opened(out)
        pixel = np.arange(1, 129, dtype=np.float64)
        for i, one in enumerate(found):
            self.assertEqual((one["frame"], one["image"].shape, one["image"].dtype), (i, (1, 128), np.uint16))
            self.assertEqual(one["axis"].dtype, np.float64)
            np.testing.assert_allclose(one["axis"], 500 + .75 * pixel - .0005 * pixel**2, rtol=1e-14)
            np.testing.assert_array_equal(one["axis_coefficients"], [500, .75, -.0005])
            self.assertEqual(one["axis_unit"], b"nm")

    def test_tiles(self):
        """With the class names of the raster that labels them, and what the header says."""
        out = folder("tiles")
        tundish("convert", ARRAYS / "field.hdr", "-o", out / "field", "--tile", "8x8", "--label-raster",
                ARRAYS / "truth.hdr", "--columns", "wavelength,wavelength units")
        builder, found = opened(out)
        self.assertEqual(builder.info.features["label"].names, ["Unclassified", "water", "grass", "soil"])
        cube = np.fromfile(ARRAYS / "field.img", "<u2").reshape(6, 48, 64).transpose(1, 2, 0)
        truth = np.fromfile(ARRAYS / "truth.img", "u1").reshape(48, 64)
        for one in found:
            y, x = one["y"], one["x"]
            np.testing.assert_array_equal(one["image"], cube[y:y + 8, x:x + 8])
            self.assertEqual(one["label"], truth[y + 4, x + 4])
            np.testing.assert_array_equal(one["wavelength"], [480, 550, 620, 680, 780, 860])
            self.assertEqual(one["wavelength units"], b"Nanometers")

    def test_columns(self):
        out = folder("columns")
        tundish("convert", ROOT / "data/photos", "-o", out / "photos", "--labels",
                f"csv:{ROOT}/data/table/photos.csv", "--columns", "weight,note,bytes", "--group-by", "chosen by")
        builder, found = opened(out)
        self.assertEqual(builder.info.features["label"].names, ["animal", "person", "sky", "thing"])
        self.assertEqual({one["group"] for one in found}, {b"a", b"b", b"c", b"d", b"e"})
        self.assertEqual({one["note"] for one in found}, {b"", b"small, and dark"})
        for one in found:
            self.assertEqual(one["bytes"], (ROOT / "data/photos" / one["filename"].decode()).stat().st_size)
            self.assertIn(one["weight"], np.arange(1, 9, dtype=np.float32) / 8)
