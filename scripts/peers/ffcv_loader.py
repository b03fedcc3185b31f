# SPDX-License-Identifier: BSD-2-Clause
"""FFCV on the same photographs, kept as JPEG in its own file.

usage: ffcv_loader.py THREADS EPOCHS PHOTOS BETON   (BETON is written when missing)"""
import os
import pathlib
import sys

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip
from ffcv.writer import DatasetWriter
from PIL import Image

import clock

threads, epochs, photos, beton = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]


class Photos:
    def __init__(self):
        self.files = sorted(pathlib.Path(photos).iterdir())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return Image.open(self.files[i]).convert("RGB"), i % 10


if not os.path.exists(beton):
    DatasetWriter(beton, {"image": RGBImageField(write_mode="jpg", jpeg_quality=90), "label": IntField()},
                  num_workers=threads).from_indexed_dataset(Photos())
mean, deviation = np.array([0.485, 0.456, 0.406]) * 255, np.array([0.229, 0.224, 0.225]) * 255
loader = Loader(beton, batch_size=64, num_workers=threads, order=OrderOption.RANDOM, os_cache=True,
                drop_last=False, pipelines={
                    "image": [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(),
                              NormalizeImage(mean, deviation, np.float32)],
                    "label": [IntDecoder()]})
for _ in loader:
    pass  # its code is compiled on the first walk
clock.run(len(images) for _ in range(epochs) for images, _ in loader)
