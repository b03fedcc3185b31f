# SPDX-License-Identifier: BSD-2-Clause
"""What goes out besides pictures, against what TensorFlow parses from the same records:
features of all kinds, raw arrays of any number of channels, clips of SequenceExamples."""
import io
import unittest

import numpy as np
import tensorflow as tf
import tundish as client

from common import folder, tundish


def feature(values):
    if isinstance(values[0] if len(values) else b"", bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write(name, examples):
    path = folder(name) / "set.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for example in examples:
            writer.write(example.SerializeToString())
    return path


def example(**features):
    return tf.train.Example(features=tf.train.Features(
        feature={key: feature(value) for key, value in features.items()}))


def feed(path, ops, batch, *options):
    return list(client.named_batches(io.BytesIO(
        tundish("feed", path, "--ops", ops, "--batch", batch, *options))))


class Features(unittest.TestCase):
    def test_kinds(self):
        draw = np.random.default_rng(3)
        path = write("kinds", [example(
            label=[i], box=[float(v) for v in draw.random(4)],
            ids=[int(v) for v in draw.integers(-2**63, 2**63, draw.integers(1, 6))],
            scores=[float(v) for v in draw.random(draw.integers(1, 4))],
            name=[b"n" * int(draw.integers(0, 9))],
            tags=[bytes(draw.bytes(int(k))) for k in draw.integers(0, 5, draw.integers(1, 4))]) for i in range(50)])
        raw = list(tf.data.TFRecordDataset(str(path)).batch(7))
        got = feed(path, "select:tags=ragged,scores=ragged,box,ids=ragged,name,label", 7)
        self.assertEqual(len(got), len(raw))
        for ours, theirs in zip(got, raw):
            parsed = tf.io.parse_example(theirs, {
                "label": tf.io.FixedLenFeature([], tf.int64), "box": tf.io.FixedLenFeature([4], tf.float32),
                "ids": tf.io.RaggedFeature(tf.int64), "scores": tf.io.RaggedFeature(tf.float32),
                "name": tf.io.FixedLenFeature([], tf.string), "tags": tf.io.RaggedFeature(tf.string)})
            for key in "label", "box":
                np.testing.assert_array_equal(ours[key], parsed[key])
            for key in "ids", "scores":
                np.testing.assert_array_equal(ours[key], parsed[key].to_tensor())
                np.testing.assert_array_equal(ours[key + "/lengths"], parsed[key].row_lengths())
            self.assertEqual(client.texts(ours["name"], ours["name/lengths"]), parsed["name"].numpy().tolist())
            self.assertEqual(client.texts(ours["tags"], ours["tags/lengths"]), parsed["tags"].to_list())


class Arrays(unittest.TestCase):
    """tf.image works on any number of channels, too."""

    @classmethod
    def setUpClass(cls):
        draw = np.random.default_rng(4)
        cls.arrays = draw.integers(0, 2**16, (12, 30, 41, 7), np.uint16)
        cls.path = write("arrays", [example(label=[i], image=[a.tobytes()], dtype=[b"uint16"])
                                    for i, a in enumerate(cls.arrays)])

    def close(self, ops, expected, most):
        got = np.concatenate([b["image"] for b in feed(self.path, f"tensor:30x41x7 {ops}", 5)])
        self.assertEqual(got.shape, expected.shape)
        self.assertLessEqual(np.abs(got - expected.numpy()).max(), most)

    def test_resize(self):
        self.close("resize:17x50", tf.image.resize(self.arrays, [17, 50]), 0.02 * 257)
        self.close("resize:12x13,rule=area", tf.image.resize(self.arrays, [12, 13], "area"), 0.02 * 257)

    def test_turns(self):
        self.close("central_crop:0.5 hflip:1 rot90:1 bands:7,2-3",
                   tf.gather(tf.image.rot90(tf.image.flip_left_right(tf.image.central_crop(self.arrays, 0.5))),
                             [6, 1, 2], axis=-1), 0)


class Clips(unittest.TestCase):
    def test_sequences(self):
        draw = np.random.default_rng(5)
        videos = draw.integers(0, 256, (9, 8, 20, 24, 3), np.uint8)
        path = write("sequences", [tf.train.SequenceExample(
            context=tf.train.Features(feature={"label": feature([i])}),
            feature_lists=tf.train.FeatureLists(feature_list={"image/encoded": tf.train.FeatureList(
                feature=[feature([tf.io.encode_png(frame).numpy()]) for frame in video])}))
            for i, video in enumerate(videos)])
        (batch,) = feed(path, "clip:3,stride=2", 9)
        for clip, video, label in zip(batch["image"], videos, batch["label"]):
            starts = [s for s in range(4) if np.array_equal(clip, video[s:s + 5:2])]
            self.assertEqual(len(starts), 1, label)
        (batch,) = feed(path, "clip:8 crop:9x7,x=3,y=5 layout:nchw", 9)
        np.testing.assert_array_equal(batch["image"], videos[:, :, 5:14, 3:10].transpose(0, 1, 4, 2, 3))
