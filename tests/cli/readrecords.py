# SPDX-License-Identifier: BSD-2-Clause
"""Reads Examples from record files by the format's description and not with our code."""
import struct


def fields(data):
    """(number, value) of a message: ints for varints, bytes for the rest."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = {1: lambda: 8, 2: varint, 5: lambda: 4}[tag & 7]()
            yield tag >> 3, data[at:at + size]
            at += size


def integers(data):
    out = []
    for _, value in fields(data):
        numbers = [value] if isinstance(value, int) else [v for _, v in packed(value)]
        out += [n - (1 << 64) if n >> 63 else n for n in numbers]
    return out


def packed(data):
    """Varints in a row, as fields() of fields without tags."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield 0, value
            value = shift = 0


def example(record):
    """{key: list of values} of an Example."""
    out = {}
    for _, features in fields(record):
        for _, entry in fields(features):
            parts = dict(fields(entry))
            for kind, data in fields(parts[2]):
                values = integers(data) if kind == 3 else [v for _, v in fields(data)]
                if kind == 2:
                    values = [v for floats in values for v, in struct.iter_unpack("<f", floats)]
                out[parts[1].decode()] = values
    return out


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + size]
        at += 16 + size


def examples(*paths):
    """{file name: Example} of all records in files."""
    found = (example(record) for path in paths for record in records(path))
    return {one["filename"][0].decode(): one for one in found}
