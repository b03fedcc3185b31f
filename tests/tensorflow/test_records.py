# SPDX-License-Identifier: BSD-2-Clause
"""TensorFlow and TFDS read what tundish wrote, and tundish what TensorFlow wrote."""
import io
import unittest

import numpy
import PIL.Image
import tensorflow as tf
import tensorflow_datasets as tfds

from common import CLASSES, FILES, PHOTOS, folder, photo_set, records, tundish


def accurate(image):
    """TensorFlow's decoder with libjpeg's accurate DCT; of a PNG as it is."""
    return tf.io.decode_jpeg(image, channels=3, dct_method="INTEGER_ACCURATE")


def pillow(image):
    return tf.constant(numpy.asarray(PIL.Image.open(io.BytesIO(image)).convert("RGB")))


class Written(unittest.TestCase):
    def same_as_source(self, examples):
        """Each source file is there once, byte for byte, with the label of its class."""
        seen = {}
        for example in examples:
            name = example["filename"].decode()
            self.assertNotIn(name, seen)
            seen[name] = example["image"]
            self.assertEqual(CLASSES[example["label"]], name.split("/")[0])
            shape = tf.io.decode_image(example["image"]).shape
            self.assertEqual((example["height"], example["width"]), tuple(shape[:2]))
        self.assertEqual(seen, FILES)

    def test_every_shard(self):
        shards = sorted(photo_set().glob("photos-*.tfrecord-*"))
        self.assertEqual(len(shards), 6)
        self.same_as_source(records(shards))
        for shard in shards:
            self.assertEqual(int(tundish("count", shard)), sum(1 for _ in records([shard])))

    def test_pattern_matches_records_only(self):
        found = tf.data.Dataset.list_files(str(photo_set() / "photos-train.tfrecord-*"), shuffle=False)
        names = [name.numpy().decode() for name in found]
        self.assertEqual(len(names), 4)
        count = sum(1 for _ in tf.data.TFRecordDataset(names))
        self.assertEqual(count, int(tundish("count", *names).split()[-1]))

    def test_one_stream(self):
        out = folder("stream") / "all.tfrecord"
        out.write_bytes(tundish("convert", PHOTOS, "-o", "-"))
        self.same_as_source(records([out]))

    def test_tfds_opens_the_folder(self):
        builder = tfds.builder_from_directory(str(photo_set()))
        self.assertEqual(builder.info.features["label"].names, CLASSES)
        total = 0
        for split in ("train", "val"):
            examples = list(builder.as_dataset(split=split))
            self.assertEqual(len(examples), builder.info.splits[split].num_examples)
            total += len(examples)
            for example in examples:
                name = example["filename"].numpy().decode()
                self.assertEqual(CLASSES[example["label"]], name.split("/")[0])
        self.assertEqual(total, len(FILES))

    def test_tfds_opens_slim_keys(self):
        out = folder("slim")
        tundish("convert", PHOTOS, "-o", out / "photos", "--shards", 3, "--keys", "slim")
        builder = tfds.builder_from_directory(str(out))
        self.assertEqual(builder.info.features["image/class/label"].names, CLASSES)
        self.assertEqual(sum(1 for _ in builder.as_dataset(split="train")), len(FILES))

    def test_lossless_forms(self):
        """Other bytes, the same pixels: for TensorFlow in both its DCTs, and for Pillow."""
        kept = {record["filename"]: record["image"] for record in records(
            sorted(photo_set().glob("photos-*.tfrecord-*")))}
        for form in ("restart=rows", "restart=off"):
            out = folder(form)
            tundish("convert", PHOTOS, "-o", out / "p", "--reencode", f"jpeg-lossless:{form}", "--jpeg-index", "rows")
            changed = 0
            for record in records(sorted(out.glob("p-*.tfrecord-*"))):
                old, new = kept[record["filename"]], record["image"]
                changed += old != new
                for pixels in (tf.io.decode_image, accurate, pillow):
                    self.assertTrue((pixels(old) == pixels(new)).numpy().all(), record["filename"])
            self.assertGreater(changed, 20)

    def test_reshard(self):
        out = folder("reshard")
        tundish("shard", photo_set(), "-o", out / "again", "--shards", 5, "--shuffle", "--seed", 3)
        shards = sorted(out.glob("again-*.tfrecord-*"))
        self.assertEqual(len(shards), 5)
        self.same_as_source(records(shards))

    def test_compressed(self):
        for kind in ("GZIP", "ZLIB", "SNAPPY"):
            with self.subTest(kind):
                out = folder(kind)
                tundish("shard", photo_set(), "-o", out / "packed", "--shards", 2,
                        "--compress", kind.lower())
                self.same_as_source(records(sorted(out.glob("packed-*.tfrecord-*")), kind))


class Read(unittest.TestCase):
    def test_what_tensorflow_wrote(self):
        out = folder("theirs")
        for kind in ("", "GZIP", "ZLIB"):
            with self.subTest(kind):
                path = out / f"x{kind}.tfrecord"
                with tf.io.TFRecordWriter(str(path), kind) as writer:
                    for data in FILES.values():
                        writer.write(data)
                self.assertEqual(int(tundish("count", "--verify", path)), len(FILES))
