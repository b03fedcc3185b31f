# SPDX-License-Identifier: BSD-2-Clause
"""DALI's pipeline on the CPU.

usage: dali.py THREADS EPOCHS INDEX-FOLDER FILE..."""
import os
import struct
import sys

from nvidia.dali import fn, pipeline_def, tfrecord, types

import clock

BATCH = 64
threads, epochs, folder, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]


def index(path):
    """Writes DALI's index of a record file; its path, and how many records."""
    os.makedirs(folder, exist_ok=True)
    out, count = f"{folder}/{os.path.basename(path)}.idx", 0
    with open(path, "rb") as records, open(out, "w", encoding="ascii") as lines:
        while head := records.read(8):
            size = struct.unpack("<Q", head)[0] + 16
            lines.write(f"{records.tell() - 8} {size}\n")
            records.seek(size - 8, 1)
            count += 1
    return out, count


@pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None)
def pipeline(indices):
    record = fn.readers.tfrecord(
        path=files, index_path=indices, random_shuffle=True, initial_fill=512, dont_use_mmap=False,
        features={"image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
                  "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})
    image = fn.decoders.image_random_crop(record["image"], device="cpu", random_area=(0.08, 1.0),
                                          random_aspect_ratio=(3 / 4, 4 / 3), num_attempts=10)
    image = fn.resize(image, size=(224, 224))
    image = fn.crop_mirror_normalize(image, mirror=fn.random.coin_flip(), dtype=types.FLOAT, output_layout="HWC",
                                     mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
                                     std=[0.229 * 255, 0.224 * 255, 0.225 * 255])
    return image, record["label"]


indexed = [index(file) for file in files]
batches = sum(count for _, count in indexed) * epochs // BATCH
running = pipeline([path for path, _ in indexed])
running.build()
clock.run(len(running.run()[1]) for _ in range(batches))
