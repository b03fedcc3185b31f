# SPDX-License-Identifier: BSD-2-Clause
"""DALI and the `tfrecord` package read what tundish wrote, by its indexes too. They run
in Pythons of their own: one cannot stand beside TensorFlow, the other has its own."""
import hashlib
import os
import pathlib
import subprocess
import sys
import unittest

from common import CLASSES, FILES, folder, photo_set, tundish

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")))
PEERS = pathlib.Path(os.environ.get("TUNDISH_PEERS", CACHE / "tundish/peers"))
WANTED = sorted((hashlib.sha256(data).hexdigest(), CLASSES.index(name.split("/")[0]))
                for name, data in FILES.items())

# Both print a line with digest and label for each record.
DALI = """
import hashlib, sys
from nvidia.dali import fn, pipeline_def, tfrecord
records, files, indexes = int(sys.argv[1]), sys.argv[2::2], sys.argv[3::2]
@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def pipeline():
    record = fn.readers.tfrecord(path=files, index_path=indexes, features={
        "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
        "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})
    return record["image"], record["label"]
running = pipeline()
running.build()
for _ in range(records):
    image, label = running.run()
    print(hashlib.sha256(image.at(0).tobytes()).hexdigest(), int(label.at(0)[0]))
"""

# Files and indexes in turn; each half of a file is found by the index.
PACKAGE = """
import hashlib, sys, tfrecord
compression = sys.argv[1] or None
for file, index in zip(sys.argv[2::2], sys.argv[3::2]):
    for shard in ((0, 2), (1, 2)) if index else (None,):
        for one in tfrecord.tfrecord_loader(file, index or None, shard=shard, compression_type=compression):
            print(hashlib.sha256(one["image"]).hexdigest(), int(one["label"][0]))
"""


def python_with(module):
    """The first Python that has the module, or None."""
    for python in sys.executable, PEERS / "dl/bin/python":
        try:
            subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=True)
            return python
        except (OSError, subprocess.CalledProcessError):
            pass
    return None


def with_indexes(shards):
    for shard in shards:
        yield from (shard, shard.parent / "index" / f"{shard.name}.idx")


class Readers(unittest.TestCase):
    def read_by(self, module, script, *arguments):
        """Their Python reads all photographs with their labels."""
        python = python_with(module)
        if not python:
            self.skipTest(f"no Python with {module}")
        done = subprocess.run([python, "-c", script, *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = (line.split() for line in done.stdout.splitlines())
        self.assertEqual(sorted((digest, int(label)) for digest, label in lines), WANTED)

    def test_dali(self):
        shards = sorted(photo_set().glob("photos-*.tfrecord-*"))
        self.read_by("nvidia.dali", DALI, len(FILES), *with_indexes(shards))

    def test_tfrecord_package(self):
        shards = sorted(photo_set().glob("photos-*.tfrecord-*"))
        self.read_by("tfrecord", PACKAGE, "", *with_indexes(shards))

    def test_tfrecord_package_gzip(self):
        out = folder("gzip-package")
        tundish("shard", photo_set(), "-o", out / "p", "--shards", 2, "--compress", "gzip")
        self.read_by("tfrecord", PACKAGE, "gzip",
                     *(part for shard in sorted(out.glob("p-*.tfrecord-*")) for part in (shard, "")))
