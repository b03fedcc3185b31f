# SPDX-License-Identifier: BSD-2-Clause
"""Pictures prepared for training, against Pillow: sizes, turns, transparency, forms."""
import io
import itertools
import unittest

import numpy
import PIL.Image
import PIL.ImageOps
import tensorflow as tf
import tensorflow_datasets as tfds

from common import FILES, PHOTOS, folder, tundish

RAW = {"image/value": tf.io.FixedLenFeature([], tf.string), "image/shape": tf.io.FixedLenFeature([3], tf.int64),
       "filename": tf.io.FixedLenFeature([], tf.string)}


def read(out, features):
    for raw in tf.data.TFRecordDataset(sorted(map(str, out.glob("p-*.tfrecord-*")))):
        example = tf.io.parse_single_example(raw, features)
        yield example["filename"].numpy().decode(), example


def pixels(example):
    return numpy.frombuffer(example["image/value"].numpy(), "u1").reshape(example["image/shape"].numpy())


def oriented(image, orientation, **more):
    """A file of the picture, with EXIF."""
    exif = PIL.Image.Exif()
    exif[0x112] = orientation
    out = io.BytesIO()
    image.save(out, exif=exif, **more)
    return out.getvalue()


class Prepared(unittest.TestCase):
    def convert(self, name, source, *options):
        out = folder(name)
        tundish("convert", source, "-o", out / "p", *options)
        return out

    def close(self, got, want, most):
        self.assertEqual(got.shape, want.shape)
        difference = numpy.abs(got.astype(int) - want.astype(int))
        self.assertLessEqual(difference.max(), most)

    def test_resized_as_pillow_does(self):
        out = self.convert("resized", PHOTOS, "--reencode", "raw", "--shorter-side", 90)
        count = 0
        for name, example in read(out, RAW):
            image = PIL.Image.open(io.BytesIO(FILES[name])).convert("RGB")
            got = pixels(example)
            small = image.resize((got.shape[1], got.shape[0]), PIL.Image.Resampling.BILINEAR)
            self.close(got, numpy.asarray(small), 1)
            self.assertEqual(min(got.shape[:2]), 90)
            count += 1
        self.assertEqual(count, len(FILES))

    def test_turned_as_pillow_does(self):
        source = folder("turns")
        rng = numpy.random.default_rng(3)
        image = PIL.Image.fromarray(rng.integers(0, 256, (37, 53, 3), dtype="u1"))
        for orientation, (form, more) in itertools.product(range(1, 9), (("jpeg", {"quality": 90}), ("png", {}))):
            (source / f"{orientation}.{form}").write_bytes(oriented(image, orientation, format=form, **more))
        out = self.convert("turned", source, "--reencode", "raw", "--apply-orientation", "--labels", "none")
        seen = 0
        for name, example in read(out, RAW):
            want = PIL.ImageOps.exif_transpose(PIL.Image.open(source / name)).convert("RGB")
            self.close(pixels(example), numpy.asarray(want), 0)
            seen += 1
        self.assertEqual(seen, 16)

    def test_transparent_as_pillow_does(self):
        source = folder("transparent")
        rng = numpy.random.default_rng(4)
        files = {"rgba.png": PIL.Image.fromarray(rng.integers(0, 256, (40, 30, 4), dtype="u1")),
                 "la.png": PIL.Image.fromarray(rng.integers(0, 256, (40, 30, 2), dtype="u1"), "LA")}
        for name, image in files.items():
            image.save(source / name)
        files["rgba.png"].quantize(30).save(source / "palette.png", transparency=bytes(range(0, 240, 8)))
        for colour, level in (("white", 255), ("black", 0)):
            out = self.convert(colour, source, "--reencode", "raw", "--alpha", colour, "--labels", "none")
            for name, example in read(out, RAW):
                image = PIL.Image.open(source / name).convert("RGBA")
                ground = PIL.Image.new("RGBA", image.size, (level, level, level, 255))
                want = PIL.Image.alpha_composite(ground, image).convert("RGB")
                self.close(pixels(example), numpy.asarray(want), 1)

    def test_encoded_forms(self):
        """What is encoded anew opens everywhere, and TFDS sees raw pixels as a tensor."""
        encoded = {"image": tf.io.FixedLenFeature([], tf.string), "filename": tf.io.FixedLenFeature([], tf.string)}
        kept = self.convert("raw", PHOTOS, "--reencode", "raw", "--max-side", 150)
        raw = dict(read(kept, RAW))
        for form, most in (("png", 0), ("jpeg:95", 60)):
            out = self.convert(form, PHOTOS, "--reencode", form, "--max-side", 150)
            for name, example in read(out, encoded):
                want = pixels(raw[name])
                for got in (tf.io.decode_image(example["image"], channels=3).numpy(),
                            numpy.asarray(PIL.Image.open(io.BytesIO(example["image"].numpy())).convert("RGB"))):
                    self.close(got, want, most)
                    self.assertLess(numpy.abs(got.astype(int) - want).mean(), 4)
        builder = tfds.builder_from_directory(str(kept))
        for example in builder.as_dataset(split="train"):
            want = pixels(raw[example["filename"].numpy().decode()])
            self.assertTrue((example["image"].numpy() == want).all())
