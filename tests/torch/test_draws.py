# SPDX-License-Identifier: BSD-2-Clause
"""What the random operations draw, against torchvision's own draws of the same.

Records hold float32 arrays, so that each draw can be read from what comes out: the two
channels of PLANE are the coordinates x and y of each pixel."""
import io
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import torch
import tundish
from records import frame, message
from torchvision.transforms import v2

PROGRAM = os.environ["TUNDISH_PROGRAM"]
H, W = 120, 160
DRAWS = 6000


def plane():
    y, x = np.mgrid[0:H, 0:W].astype(np.float32)
    return np.stack([x, y], -1)


def feed(arrays, ops, epochs=1, batch=64):
    """The batches of a set of these arrays, so many epochs of it."""
    shape = "x".join(map(str, arrays[0].shape))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "set.tfrecord"
        path.write_bytes(b"".join(frame(message({"dtype": str(a.dtype).encode(), "image": a.tobytes(), "label": i}))
                                  for i, a in enumerate(arrays)))
        done = subprocess.run([PROGRAM, "feed", str(path), "--ops", f"tensor:{shape},dtype=float32 {ops}",
                               "--epochs", str(epochs), "--batch", str(batch), "--seed", "7"],
                              check=True, capture_output=True)
    return tundish.named_batches(io.BytesIO(done.stdout))


def images(array, ops, draws=DRAWS):
    """What comes of so many draws over one array."""
    got = [b["image"] for b in feed([array], ops, draws, 1)]
    return np.concatenate(got)


class Draws(unittest.TestCase):
    def same(self, ours, theirs):
        """Kolmogorov and Smirnov, two samples: exceeded once in a million."""
        a, b = np.sort(np.ravel(ours)), np.sort(np.ravel(theirs))
        at = np.concatenate([a, b])
        distance = np.abs(np.searchsorted(a, at, "right") / len(a) - np.searchsorted(b, at, "right") / len(b))
        most = 2.7 * math.sqrt(1 / len(a) + 1 / len(b))
        self.assertLess(distance.max(), most)

    def same_part(self, ours, theirs):
        """How often something happens, or does in theory."""
        self.assertAlmostEqual(np.mean(ours), np.mean(theirs), delta=5 * 0.5 * math.sqrt(2 / len(ours)))

    @classmethod
    def setUpClass(cls):
        torch.manual_seed(1)
        cls.image = torch.zeros(3, H, W)

    def test_random_resized_crop(self):
        crop = v2.RandomResizedCrop(8)
        params = [crop.make_params([self.image]) for _ in range(DRAWS)]
        theirs = np.array([[p[k] for k in ("left", "top", "width", "height")] for p in params])
        got = images(plane(), "random_resized_crop:8x8")
        # a ramp stays one: pixel k of 8 is at left + (k + 1/2) width / 8 - 1/2
        width = (got[:, 4, 6, 0] - got[:, 4, 2, 0]) * 2
        height = (got[:, 6, 4, 1] - got[:, 2, 4, 1]) * 2
        left = got[:, 4, 4, 0] - 4.5 * width / 8 + .5
        top = got[:, 4, 4, 1] - 4.5 * height / 8 + .5
        for i, ours in enumerate((left, top, width, height)):
            self.same(np.rint(ours), theirs[:, i])
        self.same(np.rint(width) * np.rint(height), theirs[:, 2] * theirs[:, 3])

    def test_random_crop(self):
        theirs = [v2.RandomCrop(100).make_params([self.image]) for _ in range(DRAWS)]
        got = images(plane(), "random_crop:100 crop:1")
        self.same(got[:, 0, 0, 0], [p["left"] for p in theirs])
        self.same(got[:, 0, 0, 1], [p["top"] for p in theirs])

    def test_flips(self):
        got = images(plane(), "hflip:0.3 vflip:0.6 crop:1")
        self.same_part(got[:, 0, 0, 0] > 0, [0.3])
        self.same_part(got[:, 0, 0, 1] > 0, [0.6])
        both = (got[:, 0, 0, 0] > 0) & (got[:, 0, 0, 1] > 0)
        self.same_part(both, [0.18])

    def test_rotate(self):
        theirs = [v2.RandomRotation(30).make_params([self.image])["angle"] for _ in range(DRAWS)]
        got = images(plane(), "rotate:30 center_crop:1x21")
        dx, dy = got[:, 0, 20, 0] - got[:, 0, 0, 0], got[:, 0, 20, 1] - got[:, 0, 0, 1]
        self.same(np.degrees(np.arctan2(dy, dx)), theirs)

    def test_erasing(self):
        theirs = v2.RandomErasing(p=1)
        params = [theirs.make_params([self.image]) for _ in range(DRAWS)]
        got = images(plane() + 1, "random_erasing:1,value=-1", DRAWS // 4)[..., 0] < 0
        rows, columns = got.any(2), got.any(1)
        self.same(rows.sum(1), [p["h"] for p in params])
        self.same(columns.sum(1), [p["w"] for p in params])
        self.same(rows.argmax(1), [p["i"] for p in params])
        self.same(columns.argmax(1), [p["j"] for p in params])

    def test_blur(self):
        dot = np.zeros((9, 9, 1), np.float32)
        dot[4, 4] = 1
        theirs = np.array([v2.GaussianBlur(9).make_params([self.image])["sigma"][0] for _ in range(DRAWS)])
        got = images(dot, "gaussian_blur:9")[:, 4, :, 0]
        ours = np.sqrt(-1 / 2 / np.log(np.maximum(got[:, 5] / got[:, 4], 1e-37)))
        # below 0.12 the neighbour of the middle is nothing
        self.same(np.maximum(ours, .12), np.maximum(theirs, .12))

    def test_jitter(self):
        jitter = v2.ColorJitter(.4, .3, .2, .1)
        theirs = [jitter.make_params([self.image]) for _ in range(DRAWS)]
        grey = np.full((4, 4, 3), 100, np.float32)
        self.same(images(grey, "color_jitter:brightness=.4 crop:1")[:, 0, 0, 0] / 100,
                  [p["brightness_factor"] for p in theirs])
        halves = np.full((4, 4, 3), 100, np.float32)
        halves[:2] = 140  # mean 120
        self.same((images(halves, "color_jitter:contrast=.3 crop:1")[:, 0, 0, 0] - 120) / 20,
                  [p["contrast_factor"] for p in theirs])
        red = np.zeros((4, 4, 3), np.float32) + np.array([160, 100, 100], np.float32)
        got = images(red, "color_jitter:saturation=.2 crop:1")[:, 0, 0]
        self.same((got[:, 0] - got[:, 1]) / 60, [p["saturation_factor"] for p in theirs])
        got = images(red, "color_jitter:hue=.1 crop:1")[:, 0, 0]
        self.same((got[:, 1] - got[:, 2]) / 360, [p["hue_factor"] for p in theirs])
        orders = [tuple(p["fn_idx"].tolist()) for p in theirs]
        self.assertEqual(len(set(orders)), 24)

    def mixed(self, ops, arrays):
        """What each keeps of its own label, and the batches."""
        keeps, got = [], []
        for batch in feed(arrays, f"one_hot:{len(arrays)} {ops}", 60, len(arrays)):
            keeps.append(np.diagonal(batch["label"]))
            got.append(batch["image"])
        return np.concatenate(keeps), np.concatenate(got)

    def test_mixup(self):
        small = [np.full((2, 2, 1), i, np.float32) for i in range(50)]
        for alpha in (0.2, 1.0, 4.0):
            mix = v2.MixUp(alpha=alpha, num_classes=4)
            theirs = [mix.make_params([self.image])["lam"] for _ in range(DRAWS)]
            ours, _ = self.mixed(f"mixup:{alpha}", small)
            self.same(ours, theirs)

    def test_cutmix(self):
        squares = [np.full((20, 30, 1), i, np.float32) for i in range(50)]
        image = torch.zeros(3, 20, 30)
        for alpha in (0.3, 1.0):
            mix = v2.CutMix(alpha=alpha, num_classes=4)
            theirs = [mix.make_params([image]) for _ in range(DRAWS)]
            ours, got = self.mixed(f"cutmix:{alpha}", squares)
            self.same(ours, [p["lam_adjusted"] for p in theirs])
            own = np.tile(np.arange(50), 60)[:, None, None]
            other = got[..., 0] != own
            some = other.any((1, 2))
            boxes = np.array([p["box"] for p in theirs if p["box"][2] > p["box"][0] and p["box"][3] > p["box"][1]])
            self.same(other[some].any(1).argmax(1), boxes[:, 0])
            self.same(other[some].any(2).argmax(1), boxes[:, 1])
            self.same(other[some].any(1).sum(1), boxes[:, 2] - boxes[:, 0])
            self.same(other[some].any(2).sum(1), boxes[:, 3] - boxes[:, 1])
