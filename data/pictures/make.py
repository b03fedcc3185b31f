#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: make.py

Draws 4 pictures of dots and rings beside it, with Pillow 13: one BMP, one GIF, one TIFF and
one WebP, and a JSON side-car for each with its label and what was drawn."""
import json
import pathlib

from PIL import Image, ImageDraw

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 32


def draw(label, radius):
    picture = Image.new("RGB", (SIDE, SIDE), (250, 240, 220))
    box = [SIDE // 2 - radius, SIDE // 2 - radius, SIDE // 2 + radius, SIDE // 2 + radius]
    ImageDraw.Draw(picture).ellipse(box, fill=(40, 90, 160) if label == "dot" else None, outline=(40, 90, 160), width=3)
    return picture


for i, (kind, options) in enumerate({"bmp": {}, "gif": {}, "tif": {"compression": "tiff_deflate"},
                                     "webp": {"lossless": True}}.items()):
    label, radius = ("dot", "ring")[i % 2], 6 + 2 * i
    draw(label, radius).save(HERE / f"{label}{radius}.{kind}", **options)
    about = {"label": label, "radius": radius, "by": "make.py"}
    (HERE / f"{label}{radius}.json").write_text(json.dumps(about) + "\n")
