# SPDX-License-Identifier: BSD-2-Clause
"""Records read as dictionaries, and written, without anybody's library, from the format's
description: what the Python tests share."""
import struct


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        length, at = varint(data, at)
        yield tag >> 3, data[at:at + length]
        at += length


def values(feature):
    """A list of bytes, floats or integers."""
    kind, body = next(fields(feature), (0, b""))
    parts = [part for _, part in fields(body)]
    if kind == 1:
        return parts
    packed = b"".join(parts)
    if kind == 2:
        return list(struct.unpack(f"<{len(packed) // 4}f", packed))
    at, numbers = 0, []
    while at < len(packed):
        number, at = varint(packed, at)
        numbers.append(number - (1 << 64) if number >> 63 else number)
    return numbers


def features(data):
    out = {}
    for _, entry in fields(data):
        pair = dict(fields(entry))
        out[pair[1].decode()] = values(pair[2])
    return out


def frames(data):
    """The data of all records in the bytes of a file."""
    at = 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + length]
        at += length + 16


def messages(folder):
    """The data of all records of a folder, in the order of the file names."""
    for file in sorted(folder.glob("*-of-*")):
        yield from frames(file.read_bytes())


def example(data):
    """The features of an Example."""
    return features(dict(fields(data))[1])


def records(folder):
    """The Examples of a folder, in the order of the file names."""
    return [example(data) for data in messages(folder)]


def crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)


def number(n):
    """A varint."""
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(tag, data):
    return bytes([tag << 3 | 2]) + number(len(data)) + data


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


def message(values):
    """An Example of name -> one int or bytes."""
    def feature(value):
        whole = isinstance(value, int)
        return field(3 if whole else 1, field(1, number(value) if whole else value))
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(value)))
                             for name, value in sorted(values.items())))
