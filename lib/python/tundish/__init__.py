# SPDX-License-Identifier: BSD-2-Clause
"""Batches of `tundish feed` as NumPy arrays."""
import ast
import struct

import numpy as np

__all__ = ["batches", "named_batches", "read_array", "texts"]


def _fill(stream, view):
    """Fills a memoryview; the bytes that were there."""
    done = 0
    readinto = getattr(stream, "readinto", None)
    while done < len(view):
        if readinto is not None:
            got = readinto(view[done:])
        else:
            piece = stream.read(len(view) - done)
            got = len(piece)
            view[done:done + got] = piece
        if not got:
            break
        done += got
    return done


def _read(stream, count, may_end=False):
    data = bytearray(count)
    got = _fill(stream, memoryview(data))
    if got == 0 and may_end:
        return None
    if got < count:
        raise EOFError(f"the stream ends within an array ({got} of {count} bytes)")
    return data


def read_array(stream):
    """The next array of a stream in .npy form, or None at its end.

    `stream` is a binary file, pipe or socket file. The array is read straight into
    memory of its own.
    """
    return _read_named(stream)[1]


def _read_named(stream):
    """The next array with the name that its header has behind a #, or None."""
    magic = _read(stream, 8, may_end=True)
    if magic is None:
        return None, None
    if magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
        raise ValueError("no .npy array in the stream")
    wide = magic[6] > 1
    (length,) = struct.unpack("<I" if wide else "<H", _read(stream, 4 if wide else 2))
    text = _read(stream, length).decode("utf-8", "replace")
    header = ast.literal_eval(text)
    name = text.partition("  # ")[2].strip() or None
    if header["fortran_order"]:
        raise ValueError("arrays in Fortran order are not fed")
    array = np.empty(header["shape"], np.dtype(header["descr"]))
    if array.nbytes:
        view = memoryview(array.reshape(-1).view(np.uint8))
        got = _fill(stream, view)
        if got < array.nbytes:
            raise EOFError(f"the stream ends within an array ({got} of {array.nbytes} bytes)")
    return name, array


def batches(stream):
    """Pairs (images, labels) from the output of `tundish feed`, until it ends.

    Sets without pictures give None for images. bfloat16 comes as its bits in uint16.

    >>> import subprocess, tundish
    >>> feed = subprocess.Popen(["tundish", "feed", "SET", "--ops", "resize:224"],
    ...                         stdout=subprocess.PIPE)
    >>> for images, labels in tundish.batches(feed.stdout): ...
    """
    while True:
        images = read_array(stream)
        if images is None:
            return
        if images.ndim == 1:
            yield None, images
            continue
        labels = read_array(stream)
        if labels is None:
            raise EOFError("the stream ends before the labels of a batch")
        yield images, labels


def named_batches(stream):
    """Dictionaries of arrays from the output of `tundish feed`, until it ends.

    The names are those of `select`, or "image" and "label". What records have of different
    length is padded, and NAME/lengths holds the lengths.

    >>> for batch in tundish.named_batches(feed.stdout): batch["image"], batch["label"]
    """
    batch = {}
    while True:
        name, array = _read_named(stream)
        if array is None or name in batch:
            if batch:
                yield batch
            batch = {}
        if array is None:
            return
        if name is None:
            raise ValueError("an array without a name")
        batch[name] = array


def texts(values, lengths):
    """The bytes objects in an array of padded texts: a list, of lists where each record
    has several."""
    if lengths.ndim > 1:
        return [texts(v, n) for v, n in zip(values, lengths)]
    return [bytes(v[:n]) for v, n in zip(values, lengths) if n >= 0]
