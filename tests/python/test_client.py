# SPDX-License-Identifier: BSD-2-Clause
"""The Python client on pipes and files, fed by NumPy and by the program itself.

    test_client.py PROGRAM CLIENT-FOLDER PHOTOS
"""
import io
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

PROGRAM, CLIENT, PHOTOS = sys.argv[1:4]
sys.path.insert(0, CLIENT)
import tundish  # noqa: E402


class ReadOnly:
    """A stream with nothing but read(), which gives less than it is asked for."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, count):
        return self.data.read(min(count, 1000))


def saved(*arrays):
    out = io.BytesIO()
    for array in arrays:
        np.save(out, array)
    return out.getvalue()


def feed(folder, *options):
    return subprocess.run([PROGRAM, "feed", folder, "--ops", "resize:32", "--batch", "5", *options],
                          check=True, stdout=subprocess.PIPE).stdout


class Arrays(unittest.TestCase):
    images = np.arange(4 * 6 * 5 * 3, dtype=np.float32).reshape(4, 6, 5, 3)
    labels = np.array([3, -1, 2**40, 0])

    def check(self, stream):
        pairs = list(tundish.batches(stream))
        self.assertEqual(len(pairs), 2)
        for images, labels in pairs:
            np.testing.assert_array_equal(images, self.images)
            np.testing.assert_array_equal(labels, self.labels)
            self.assertEqual(images.dtype, np.float32)
            self.assertTrue(images.flags.writeable and images.flags.owndata)

    def test_names(self):
        folder = feed(PHOTOS)
        named = list(tundish.named_batches(io.BytesIO(folder)))
        pairs = list(tundish.batches(io.BytesIO(folder)))
        self.assertEqual(len(named), len(pairs))
        for batch, (images, labels) in zip(named, pairs):
            self.assertEqual(list(batch), ["image", "label"])
            np.testing.assert_array_equal(batch["image"], images)
            np.testing.assert_array_equal(batch["label"], labels)
        with self.assertRaisesRegex(ValueError, "without a name"):
            list(tundish.named_batches(io.BytesIO(saved(self.images))))

    def test_select(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "convert", "-q", PHOTOS, "-o", folder + "/photos"], check=True)
            out = subprocess.run([PROGRAM, "feed", folder, "--ops", "select:filename,label,image resize:8",
                                  "--batch", "20"], check=True, stdout=subprocess.PIPE).stdout
        names = []
        for batch in tundish.named_batches(io.BytesIO(out)):
            self.assertEqual(list(batch), ["filename", "filename/lengths", "label", "image"])
            self.assertEqual(batch["image"].shape, (len(batch["label"]), 8, 8, 3))
            names += tundish.texts(batch["filename"], batch["filename/lengths"])
        found = [os.path.relpath(os.path.join(where, name), PHOTOS).encode()
                 for where, _, files in os.walk(PHOTOS) for name in files if name.endswith(".jpg")]
        self.assertEqual(sorted(n for n in names if n.endswith(b".jpg")), sorted(found))

    def test_texts(self):
        values = np.frombuffer(b"ab\0\0", np.uint8).reshape(2, 2)
        self.assertEqual(tundish.texts(values, np.array([2, 0])), [b"ab", b""])
        self.assertEqual(tundish.texts(values.reshape(1, 2, 2), np.array([[1, -1]])), [[b"a"]])

    def test_streams(self):
        data = saved(self.images, self.labels) * 2
        self.check(io.BytesIO(data))
        self.check(ReadOnly(data))
        read, write = os.pipe()
        writer = threading.Thread(target=lambda: (os.write(write, data), os.close(write)))
        writer.start()
        with os.fdopen(read, "rb", buffering=0) as stream:
            self.check(stream)
        writer.join()

    def test_ends(self):
        data = saved(self.images, self.labels)
        self.assertEqual(list(tundish.batches(io.BytesIO(b""))), [])
        for end in (3, 50, len(saved(self.images)) - 1, len(saved(self.images)), len(data) - 1):
            with self.assertRaises(EOFError):
                list(tundish.batches(io.BytesIO(data[:end])))
        with self.assertRaises(ValueError):
            list(tundish.batches(io.BytesIO(b"no arrays at all")))

    def test_kinds(self):
        for dtype in ("u1", "<f2", "<u2", "<f4"):
            array = np.ones((2, 1, 1, 3), dtype)
            (got, _), = tundish.batches(io.BytesIO(saved(array, self.labels)))
            np.testing.assert_array_equal(got, array)
        (none, labels), = tundish.batches(io.BytesIO(saved(self.labels)))
        self.assertIsNone(none)
        np.testing.assert_array_equal(labels, self.labels)


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.set = os.path.join(cls.scratch.name, "set")
        subprocess.run([PROGRAM, "convert", "-q", PHOTOS, "-o", cls.set + "/photos"], check=True)

    def test_pipe_and_file(self):
        data = feed(self.set, "--epochs", "2")
        pairs = list(tundish.batches(io.BytesIO(data)))
        half = len(pairs) // 2
        self.assertEqual(len(pairs), 2 * half)
        self.assertEqual(pairs[0][0].shape, (5, 32, 32, 3))
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            for images, labels in pairs:
                np.testing.assert_array_equal(np.load(file), images)
                np.testing.assert_array_equal(np.load(file), labels)
        for first, second in zip(pairs[:half], pairs[half:]):
            np.testing.assert_array_equal(first[0], second[0])

    def test_closed_early(self):
        with subprocess.Popen([PROGRAM, "feed", self.set, "--ops", "resize:224", "--epochs", "50"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            next(tundish.batches(process.stdout))
            process.stdout.close()
            self.assertEqual(process.wait(10), -13)
            self.assertEqual(process.stderr.read(), b"")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
