# SPDX-License-Identifier: BSD-2-Clause
"""Batches: pixels against TensorFlow and Pillow, the Python client on pipes and files."""
import io
import itertools
import subprocess
import unittest

import numpy as np
import PIL.Image
import tensorflow as tf
import tundish as client

from common import FILES, PROGRAM, folder, photo_set, records, tundish


def shards():
    return sorted(photo_set().glob("photos-train.tfrecord-*"))


def feed(ops, *options):
    """All images and labels of the training split, in the order of the files."""
    stream = io.BytesIO(tundish("feed", *shards(), "--ops", ops, "--batch", 8, *options))
    batches = list(client.batches(stream))
    return (np.concatenate([images for images, _ in batches]),
            np.concatenate([labels for _, labels in batches]))


def pictures():
    """TensorFlow's own decoding, exact: what `decode` must give."""
    for example in records(shards()):
        data = example["image"]
        if data[:2] == b"\xff\xd8":
            yield tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
        else:
            yield tf.io.decode_png(data, channels=3)


class Pixels(unittest.TestCase):
    def close(self, ops, expected, most):
        images, labels = feed(ops)
        np.testing.assert_array_equal(labels, [example["label"] for example in records(shards())])
        expected = np.stack(list(expected))
        self.assertEqual(images.shape, expected.shape)
        self.assertEqual(images.dtype, expected.dtype)
        difference = np.abs(images.astype(np.float64) - expected.astype(np.float64)).max()
        self.assertLessEqual(difference, most, ops)

    def test_decode(self):
        self.close("center_crop:96", (self.middle(picture.numpy(), 96) for picture in pictures()), 0)

    @staticmethod
    def middle(picture, side):
        """torchvision's centre crop; no sample is smaller than 96."""
        top = int(round((picture.shape[0] - side) / 2.0))
        left = int(round((picture.shape[1] - side) / 2.0))
        return picture[top:top + side, left:left + side]

    def test_pillow_decodes_the_same(self):
        def decoded():
            for example in records(shards()):
                picture = PIL.Image.open(io.BytesIO(example["image"])).convert("RGB")
                yield self.middle(np.asarray(picture), 96)
        self.close("center_crop:96", decoded(), 0)

    def test_resize(self):
        self.close("resize:96x80", (tf.image.resize(picture, [96, 80]).numpy() for picture in pictures()), 0.02)

    def test_evaluation_chain(self):
        def chain():
            for picture in pictures():
                resized = tf.image.resize(tf.image.central_crop(picture, 0.875), [224, 224])
                yield ((resized - 127.5) / 127.5).numpy()
        self.close("central_crop:0.875 resize:224 normalize:seed", chain(), 0.001)

    def test_normalize_imagenet(self):
        mean = np.array([0.485, 0.456, 0.406], np.float32)
        deviation = np.array([0.229, 0.224, 0.225], np.float32)

        def chain():
            for picture in pictures():
                resized = tf.image.resize(picture, [64, 64]).numpy()
                yield ((resized / 255 - mean) / deviation).astype(np.float32)
        self.close("resize:64 normalize:imagenet", chain(), 0.001)

    def test_layout_and_cast(self):
        def chain():
            for picture in pictures():
                yield tf.transpose(tf.image.resize(picture, [32, 48]) / 255, [2, 0, 1]).numpy().astype(np.float16)
        self.close("resize:32x48 normalize:unit cast:float16 layout:nchw", chain(), 0.001)


OPS = "random_resized_crop:64 hflip normalize:imagenet"


class Client(unittest.TestCase):
    options = ("--ops", OPS, "--batch", "8", "--epochs", "2", "--shuffle", "full", "--seed", "5")

    def expected_labels(self):
        return sorted(2 * [example["label"] for example in records(shards())])

    def check(self, batches):
        """Shapes, and over two epochs every label twice as often."""
        per_epoch = -(-len(self.expected_labels()) // 2 // 8)
        self.assertEqual(len(batches), 2 * per_epoch)
        for images, labels in batches:
            self.assertEqual(images.shape[1:], (64, 64, 3))
            self.assertEqual(images.dtype, np.float32)
            self.assertEqual(labels.dtype, np.int64)
            self.assertEqual(len(images), len(labels))
        self.assertEqual(sorted(itertools.chain.from_iterable(labels for _, labels in batches)),
                         self.expected_labels())

    def test_pipe(self):
        with subprocess.Popen([PROGRAM, "feed", *shards(), *self.options],
                              stdout=subprocess.PIPE) as process:
            self.check(list(client.batches(process.stdout)))
        self.assertEqual(process.returncode, 0)

    def test_file(self):
        path = folder("npy") / "batches.npy"
        path.write_bytes(tundish("feed", *shards(), *self.options))
        with open(path, "rb") as stream:
            from_client = list(client.batches(stream))
        self.check(from_client)
        with open(path, "rb") as stream:
            for images, labels in from_client:
                np.testing.assert_array_equal(np.load(stream), images)
                np.testing.assert_array_equal(np.load(stream), labels)
            self.assertEqual(stream.read(), b"")

    def test_closed_pipe_ends_quietly(self):
        with subprocess.Popen([PROGRAM, "feed", *shards(), "--ops", OPS, "--epochs", "inf"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            next(iter(client.batches(process.stdout)))
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            process.wait(timeout=30)
        self.assertEqual(process.returncode, -13)

    def test_cut_stream_is_an_error(self):
        whole = tundish("feed", *shards(), *self.options)
        with self.assertRaises((EOFError, ValueError)):
            list(client.batches(io.BytesIO(whole[:-100])))

    def test_from_generator(self):
        with subprocess.Popen([PROGRAM, "feed", *shards(), *self.options],
                              stdout=subprocess.PIPE) as process:
            dataset = tf.data.Dataset.from_generator(
                lambda: client.batches(process.stdout),
                output_signature=(tf.TensorSpec((None, 64, 64, 3), tf.float32),
                                  tf.TensorSpec((None,), tf.int64)))
            self.check([(images.numpy(), labels.numpy()) for images, labels in dataset])


class Names(unittest.TestCase):
    def test_sample_is_large_enough(self):
        """The checks above cut 96 x 96 from every picture."""
        for data in FILES.values():
            self.assertGreaterEqual(min(PIL.Image.open(io.BytesIO(data)).size), 96)


class Sequences(unittest.TestCase):
    def test_lists(self):
        """Lists of SequenceExamples are padded as TensorFlow pads them."""
        generator = np.random.default_rng(4)
        path = folder("sequence-lists") / "s.tfrecord"

        def steps(values):
            return tf.train.FeatureList(feature=values)

        def one(**kind):
            return tf.train.Feature(**kind)

        serialized = []
        for label in range(11):
            n = int(generator.integers(0, 6))
            serialized.append(tf.train.SequenceExample(
                context=tf.train.Features(feature={"label": one(int64_list=tf.train.Int64List(value=[label]))}),
                feature_lists=tf.train.FeatureLists(feature_list={
                    "ids": steps([one(int64_list=tf.train.Int64List(value=[int(v)]))
                                  for v in generator.integers(-9, 9, n)]),
                    "boxes": steps([one(float_list=tf.train.FloatList(value=v))
                                    for v in generator.random((n // 2, 4))]),
                })).SerializeToString())
        with tf.io.TFRecordWriter(str(path)) as writer:
            for data in serialized:
                writer.write(data)
        stream = io.BytesIO(tundish("feed", path, "--ops", "select:label,ids,boxes", "--batch", 4))
        for k in range(3):
            labels, ids, n_ids, boxes, n_boxes = (client.read_array(stream) for _ in range(5))
            context, lists, lengths = tf.io.parse_sequence_example(
                serialized[4 * k:4 * k + 4],
                context_features={"label": tf.io.FixedLenFeature([], tf.int64)},
                sequence_features={"ids": tf.io.FixedLenSequenceFeature([], tf.int64),
                                   "boxes": tf.io.FixedLenSequenceFeature([4], tf.float32)})
            np.testing.assert_array_equal(labels, context["label"])
            np.testing.assert_array_equal(ids, lists["ids"])
            np.testing.assert_array_equal(n_ids, lengths["ids"])
            np.testing.assert_array_equal(boxes, lists["boxes"])
            np.testing.assert_array_equal(n_boxes, lengths["boxes"])
        self.assertIsNone(client.read_array(stream))
