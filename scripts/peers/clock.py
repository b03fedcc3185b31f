# SPDX-License-Identifier: BSD-2-Clause
"""The clock of all peers: from the second batch on, so that nobody pays for a start."""
import os
import time


def run(batches):
    """Walks an iterable of batch sizes; prints the closing line that `compare` reads."""
    batches = iter(batches)
    next(batches)
    start, images = time.perf_counter(), 0
    for size in batches:
        images += size
    report(images, time.perf_counter() - start)


def report(images, seconds):
    print(f"{images} images {seconds:.6f} s {images / seconds:.1f} /s", flush=True)


def write(paths, put):
    """Hands the bytes of each file and its number to `put`; `put(None, None)` closes."""
    start, images = time.perf_counter(), 0
    for number, path in enumerate(paths):
        with open(path, "rb") as file:
            put(number, file.read())
        images += 1
    put(None, None)
    os.sync()
    report(images, time.perf_counter() - start)
