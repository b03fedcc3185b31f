#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: payloads.py FOLDER [MEGABYTES]

Writes KIND.tfrecord files of what people keep in records, uncompressed, to see how well each
compresses. The same bytes on every run, but for what is taken from this machine."""
import json
import math
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


def smooth(rng, shape, steps):
    """Values that change slowly along the last axis."""
    return np.cumsum(np.cumsum(rng.normal(size=shape), axis=-1), axis=-1) / steps


def example(**features):
    kinds = {bytes: ("bytes_list", tf.train.BytesList), int: ("int64_list", tf.train.Int64List),
             float: ("float_list", tf.train.FloatList)}
    made = {}
    for key, values in features.items():
        values = list(values) if isinstance(values, (list, np.ndarray)) else [values]
        name, kind = kinds[type(values[0])]
        made[key] = tf.train.Feature(**{name: kind(value=values)})
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString(deterministic=True)


def raw(values, n, dtype):
    return lambda rng: example(image=np.asarray(values(rng, n)).astype(dtype).tobytes(),
                               label=int(rng.integers(10)))


def files(folders, suffixes):
    """The bytes of this machine's files, cut into records."""
    found = sorted(p for f in folders for p in pathlib.Path(f).glob("*")
                   if p.is_file() and not p.is_symlink() and any(s in p.name for s in suffixes))
    data = b"".join(p.read_bytes() for p in found[:400])
    at = [0]

    def cut(rng):
        size = int(rng.integers(2000, 60000))
        at[0] = (at[0] + size) % max(1, len(data) - size)
        return example(text=data[at[0]:at[0] + size], id=int(at[0]))
    return cut


def csv_rows(rng):
    colours = ["red", "green", "blue"]
    rows = (f"{i},{rng.normal():.6f},{rng.integers(1000)},{rng.choice(colours)},2024-0{rng.integers(1, 9)}-11"
            for i in range(200))
    return example(text="\n".join(rows).encode())


def json_rows(rng):
    rows = [{"id": int(rng.integers(1 << 31)), "score": float(rng.random()),
             "tags": [str(t) for t in rng.integers(50, size=3)],
             "user": {"name": f"user{rng.integers(10000)}", "active": bool(rng.integers(2))}} for _ in range(60)]
    return example(json=json.dumps(rows).encode())


def small(rng):
    """About 800 bytes: numbers, an identifier, a label."""
    return example(label=int(rng.integers(1000)), ids=[int(v) for v in rng.integers(1 << 20, size=60)],
                   values=[float(v) for v in np.round(rng.normal(size=120), 2)],
                   key=b"sample-%08d" % rng.integers(1 << 30))


def sound(rng, n):
    t = np.arange(n) / 16000
    tones = sum(rng.random() * np.sin(2 * math.pi * f * t) for f in rng.integers(80, 3000, size=5))
    return np.clip(tones * 3000 + rng.normal(size=n) * 60, -32768, 32767)


def cube(rng, n):
    """Bands of a scene: one shape, other brightness, noise of the sensor."""
    scene = smooth(rng, (n,), 50)
    scene = (scene - scene.min()) / (np.ptp(scene) + 1e-9)
    return np.stack([(scene * (900 + 20 * b) + 300 + rng.normal(size=n) * 4) for b in range(32)])


def mask(rng, n):
    return (np.cumsum(rng.random(n) < 0.002) % 5)


KINDS = {
    "float32-noise": raw(lambda r, n: r.normal(size=n), 16384, "<f4"),
    "float32-smooth": raw(lambda r, n: smooth(r, (n,), 1000), 16384, "<f4"),
    "float32-rounded": raw(lambda r, n: np.round(r.normal(size=n), 2), 16384, "<f4"),
    "float32-unit": raw(lambda r, n: r.integers(256, size=n) / 255, 16384, "<f4"),
    "float64-smooth": raw(lambda r, n: smooth(r, (n,), 1000), 8192, "<f8"),
    "float16-embeddings": raw(lambda r, n: r.normal(size=n) / 16, 1024, "<f2"),
    "float32-embeddings": lambda r: example(embedding=[float(v) for v in r.normal(size=512)], id=int(r.integers(1 << 40))),
    "sparse-floats": raw(lambda r, n: r.normal(size=n) * (r.random(n) < 0.1), 16384, "<f4"),
    "int32-counters": raw(lambda r, n: np.cumsum(r.integers(20, size=n)), 16384, "<i4"),
    "int64-small": raw(lambda r, n: r.integers(30000, size=n), 8192, "<i8"),
    "int32-tokens": raw(lambda r, n: r.zipf(1.2, size=n) % 50000, 2048, "<i4"),
    "varint-tokens": lambda r: example(ids=[int(v) for v in r.zipf(1.2, size=512) % 50000]),
    "uint8-noise": raw(lambda r, n: r.normal(size=n) * 20 + 128, 65536, "u1"),
    "uint8-gradient": raw(lambda r, n: np.arange(n) // 256 + r.integers(3, size=n), 65536, "u1"),
    "uint16-cube": raw(cube, 2048, "<u2"),
    "int16-sound": raw(sound, 32000, "<i2"),
    "uint8-mask": raw(mask, 65536, "u1"),
    "zeros": raw(lambda r, n: np.zeros(n), 65536, "u1"),
    "csv": csv_rows,
    "json": json_rows,
    "small-examples": small,
    "headers": files(["/usr/include", "/usr/include/linux"], [".h"]),
    "libraries": files(["/usr/lib/x86_64-linux-gnu"], [".so"]),
    "scripts": files(["/usr/lib/python3.11", "/usr/lib/python3", "/usr/lib/python3.12"], [".py"]),
}


def main():
    folder, most = pathlib.Path(sys.argv[1]), int(sys.argv[2]) << 20 if len(sys.argv) > 2 else 6 << 20
    folder.mkdir(parents=True, exist_ok=True)
    for number, (kind, make) in enumerate(KINDS.items()):
        rng, done = np.random.default_rng(number), 0
        with tf.io.TFRecordWriter(str(folder / f"{kind}.tfrecord")) as out:
            while done < most:
                record = make(rng)
                out.write(record)
                done += len(record)


main()
