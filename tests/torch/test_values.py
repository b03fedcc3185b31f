# SPDX-License-Identifier: BSD-2-Clause
"""What operations make of pixels, against torchvision's functions of the same parameters."""
import unittest

import numpy as np
import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

from test_draws import images

H, W = 60, 80


def picture():
    """Smooth colours with edges, on the scale 0 to 255; a reddish pixel in the corner."""
    y, x = np.mgrid[0:H, 0:W].astype(np.float32)
    p = np.stack([x * 3, y * 4, 120 + 100 * np.sin(x / 9) * np.cos(y / 7)], -1)
    p[20:40, 30:50] = 30, 200, 90
    p[0, 0] = 160, 100, 100
    return np.clip(p, 0, 255).astype(np.float32)


def theirs(function, *arguments, **more):
    """On the scale 0 to 1 and with planes, as torchvision wants it."""
    planes = torch.from_numpy(picture() / 255).permute(2, 0, 1)
    return function(planes, *arguments, **more).permute(1, 2, 0).numpy() * 255


class Values(unittest.TestCase):
    def close(self, ours, expected, most=0.02):
        self.assertEqual(ours.shape, expected.shape)
        self.assertLessEqual(np.abs(ours - expected).max(), most)

    def test_grayscale(self):
        self.close(images(picture(), "grayscale:1", 1)[0], theirs(F.rgb_to_grayscale, 3))

    def test_blur(self):
        for size, sigma in ((5, 1.3), (9, 0.4), (3, 2)):
            ours = images(picture(), f"gaussian_blur:{size},sigma={sigma}-{sigma}", 1)[0]
            self.close(ours, theirs(F.gaussian_blur, [size, size], [sigma, sigma]))

    def test_rotate(self):
        for angle in (0, 15, 30, 117):
            ours = images(picture(), f"rotate:{angle}-{angle}", 1)[0]
            self.close(ours, theirs(F.rotate, angle, InterpolationMode.BILINEAR))

    def test_resize(self):
        ours = images(picture(), "resize:23x31,rule=antialias", 1)[0]
        self.close(ours, theirs(F.resize, [23, 31], antialias=True))
        ours = images(picture(), "resize:90x100", 1)[0]
        self.close(ours, theirs(F.resize, [90, 100], antialias=False))

    def test_windows(self):
        for ops, function, arguments in (("center_crop:31x47", F.center_crop, [[31, 47]]), ("hflip:1", F.hflip, []),
                                         ("vflip:1", F.vflip, []), ("center_crop:70", F.center_crop, [[70, 70]]),
                                         ("pad:1/2/3/4,value=7", F.pad, [[1, 2, 3, 4], 7 / 255])):
            self.close(images(picture(), ops, 1)[0], theirs(function, *arguments), 1e-4)

    def test_jitter(self):
        """What was drawn is read from one pixel; the others must be as torchvision makes them."""
        grey = picture() @ np.array([.2989, .587, .114], np.float32)
        for epochs in range(1, 6):
            ours = images(picture(), "color_jitter:brightness=.4", epochs)[-1]
            self.close(ours, theirs(F.adjust_brightness, float(ours[0, 0, 1]) / 100), 0.05)
            ours = images(picture(), "color_jitter:contrast=.3", epochs)[-1]
            mean = grey.mean()
            self.close(ours, theirs(F.adjust_contrast, float((ours[0, 0, 0] - mean) / (160 - mean))), 0.05)
            ours = images(picture(), "color_jitter:saturation=.2", epochs)[-1]
            self.close(ours, theirs(F.adjust_saturation, float(ours[0, 0, 0] - ours[0, 0, 1]) / 60), 0.05)
            ours = images(picture(), "color_jitter:hue=.1", epochs)[-1]
            self.close(ours, theirs(F.adjust_hue, float(ours[0, 0, 1] - ours[0, 0, 2]) / 360), 0.05)


if __name__ == "__main__":
    unittest.main()
