# SPDX-License-Identifier: BSD-2-Clause
"""What the checks share: the program, the sample photographs, a set made of them."""
import functools
import os
import pathlib
import subprocess
import tempfile

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHOTOS = ROOT / "data/photos"
CLASSES = sorted(folder.name for folder in PHOTOS.iterdir())
FILES = {f"{file.parent.name}/{file.name}": file.read_bytes() for file in sorted(PHOTOS.glob("*/*"))}
PROGRAM = os.environ["TUNDISH_PROGRAM"]


def tundish(*arguments, status=0, **more):
    """Runs the program; its standard output."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False, **more)
    if done.returncode != status:
        raise AssertionError(f"tundish {' '.join(map(str, arguments))}: exit status "
                             f"{done.returncode}\n{done.stderr.decode()}")
    return done.stdout


@functools.cache
def scratch():
    """A folder that lasts as long as this run."""
    folder = tempfile.TemporaryDirectory(prefix="tundish-check-")
    return pathlib.Path(folder.name), folder


def folder(name):
    path = scratch()[0] / name
    path.mkdir()
    return path


@functools.cache
def photo_set():
    """The photographs in six shards, two splits."""
    out = folder("set")
    tundish("convert", PHOTOS, "-o", out / "photos", "--shards", "train=4,val=2",
            "--split", "train=.8,val=.2")
    return out


FEATURES = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
    "height": tf.io.FixedLenFeature([], tf.int64),
    "width": tf.io.FixedLenFeature([], tf.int64),
    "filename": tf.io.FixedLenFeature([], tf.string),
}


def records(files, compression=""):
    """The Examples that TensorFlow reads from files, in order, as dictionaries."""
    for raw in tf.data.TFRecordDataset(list(map(str, files)), compression):
        example = tf.io.parse_single_example(raw, FEATURES)
        yield {key: value.numpy() for key, value in example.items()}
