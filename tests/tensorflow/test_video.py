# SPDX-License-Identifier: BSD-2-Clause
"""Frames, clips and sound, opened by TensorFlow and TFDS."""
import os
import pathlib
import unittest

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

from common import ROOT, folder, tundish

CLIP = ROOT / "data/video/clip.mp4"
MODULE = pathlib.Path(os.environ["TUNDISH_MODULES"]) / "video.so"


@unittest.skipUnless(MODULE.exists(), "built without the video module")
class Video(unittest.TestCase):
    def test_frames(self):
        out = folder("frames")
        tundish("convert", CLIP, "-o", out / "clip")
        found = list(tfds.builder_from_directory(str(out)).as_dataset(split="train"))
        self.assertEqual([int(one["frame"]) for one in found], list(range(24)))
        for one in found:
            self.assertEqual(one["image"].shape, (64, 96, 3))
            self.assertEqual(one["group"].numpy(), b"clip.mp4")
            base = one["time_base"].numpy()
            self.assertEqual(one["time"].numpy(), np.float32(int(one["pts"]) * base[0] / base[1]))

    def test_clips(self):
        """As a Sequence(Image), of known and of unknown length."""
        for more, lengths in (([], [8] * 3), (["--frames", "every:2", "--edge", "keep"], [8, 4])):
            out = folder(f"clips{len(more)}")
            tundish("convert", CLIP, "-o", out / "clip", "--clip", 8, *more)
            found = list(tfds.builder_from_directory(str(out)).as_dataset(split="train"))
            self.assertEqual([one["frames"].shape for one in found], [(n, 64, 96, 3) for n in lengths])
            self.assertEqual([len(one["time"]) for one in found], lengths)

    def test_series(self):
        for more, shape in (([], (3,)), (["--clip", 8], (8, 3))):
            out = folder(f"series{len(shape)}")
            tundish("convert", CLIP, "-o", out / "clip", *more, "--align",
                    f"imu={ROOT}/data/video/clip.csv,time=t,columns=ax:ay:az")
            found = list(tfds.builder_from_directory(str(out)).as_dataset(split="train"))
            self.assertEqual({one["imu"].shape for one in found}, {shape})

    def test_sound(self):
        out = folder("sound")
        tundish("convert", ROOT / "data/video/tones.wav", "-o", out / "tones", "--sound", "all", "--window", ".1")
        found = list(tfds.builder_from_directory(str(out)).as_dataset(split="train"))
        self.assertEqual([one["audio"].shape for one in found], 5 * [(800, 2)])
        self.assertEqual(found[1]["audio"].dtype, tf.float32)
        self.assertEqual([int(one["sample"]) for one in found], [0, 800, 1600, 2400, 3200])

    def test_sequence(self):
        out = folder("sequence")
        tundish("convert", CLIP, "-o", out / "clip", "--clip", 8, "--sequence")
        lists = {"frames": tf.io.FixedLenSequenceFeature([], tf.string),
                 "time": tf.io.FixedLenSequenceFeature([], tf.float32)}
        for raw in tf.data.TFRecordDataset(list(map(str, out.glob("clip-*.tfrecord-*")))):
            context, steps = tf.io.parse_single_sequence_example(
                raw, {"height": tf.io.FixedLenFeature([], tf.int64)}, lists)
            self.assertEqual(int(context["height"]), 64)
            self.assertEqual(len(steps["time"]), 8)
            self.assertEqual(tf.io.decode_jpeg(steps["frames"][7]).shape, (64, 96, 3))
