# SPDX-License-Identifier: BSD-2-Clause
"""tf.data as a careful user writes it.

usage: tfdata.py train|full THREADS EPOCHS FILE...   (decodes the crop alone, or all of the picture)
       tfdata.py read[GZIP] THREADS EPOCHS FILE...
       tfdata.py parse THREADS EPOCHS FILE...   (image and label)
       tfdata.py write PHOTOS OUT
       tfdata.py make OUT COUNT BYTES [GZIP]   (records of random bytes)"""
import functools
import pathlib
import random
import sys

import tensorflow as tf

import clock

BATCH = 64
MEAN, DEVIATION = tf.constant([0.485, 0.456, 0.406]), tf.constant([0.229, 0.224, 0.225])


def threading(dataset, threads):
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.deterministic = False
    return dataset.with_options(options)


def interleaved(files, epochs, compression=""):
    dataset = tf.data.Dataset.from_tensor_slices(list(files)).repeat(epochs)
    return dataset.interleave(lambda file: tf.data.TFRecordDataset(file, compression), cycle_length=4,
                              num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)


def augmented(record, whole):
    """Parse, decode only what the crop needs or all of it, resize, flip, normalise."""
    example = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string),
                                                  "label": tf.io.FixedLenFeature([], tf.int64)})
    shape = tf.image.extract_jpeg_shape(example["image"])
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([1, 0, 4]), area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10, use_image_if_no_bounding_boxes=True)
    if whole:
        image = tf.slice(tf.io.decode_jpeg(example["image"], channels=3), begin, size)
    else:
        window = tf.concat([begin[:2], size[:2]], 0)
        image = tf.image.decode_and_crop_jpeg(example["image"], window, channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, [224, 224]))
    return (image / 255.0 - MEAN) / DEVIATION, example["label"]


def train(threads, epochs, *files, whole=False):
    dataset = interleaved(files, int(epochs)).shuffle(512)
    dataset = dataset.map(lambda record: augmented(record, whole), num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
    dataset = dataset.batch(BATCH).prefetch(tf.data.AUTOTUNE)
    clock.run(int(labels.shape[0]) for _, labels in threading(dataset, int(threads)))


def read(threads, epochs, *files, compression=""):
    dataset = interleaved(files, int(epochs), compression).batch(256).prefetch(tf.data.AUTOTUNE)
    clock.run(int(batch.shape[0]) for batch in threading(dataset, int(threads)))


def parse(threads, epochs, *files):
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    dataset = interleaved(files, int(epochs)).batch(256)
    dataset = dataset.map(lambda batch: tf.io.parse_example(batch, features)).prefetch(tf.data.AUTOTUNE)
    clock.run(int(batch["label"].shape[0]) for batch in threading(dataset, int(threads)))


def example(number, data):
    height, width, _ = tf.image.extract_jpeg_shape(data).numpy()
    whole = lambda value: tf.train.Feature(int64_list=tf.train.Int64List(value=[int(value)]))
    return tf.train.Example(features=tf.train.Features(feature={
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
        "label": whole(number % 10), "height": whole(height), "width": whole(width),
    })).SerializeToString()


def write(photos, out):
    writers = [tf.io.TFRecordWriter(f"{out}/tf-{i}-of-8") for i in range(8)]

    def put(number, data):
        if data is None:
            for writer in writers:
                writer.close()
        else:
            writers[number % 8].write(example(number, data))

    clock.write(sorted(pathlib.Path(photos).iterdir()), put)


def make(out, count, size, compression=""):
    noise = random.Random(0).randbytes(int(size) + 4096)
    writers = [tf.io.TFRecordWriter(f"{out}/made-{i}-of-4", compression) for i in range(4)]
    for i in range(int(count)):
        begin = i % 4096
        writers[i % 4].write(noise[begin:begin + int(size)])
    for writer in writers:
        writer.close()


work, rest = sys.argv[1], sys.argv[2:]
if work.startswith("read"):
    read(*rest, compression=work[4:])
else:
    {"train": train, "parse": parse, "full": functools.partial(train, whole=True), "write": write,
     "make": make}[work](*rest)
