#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: mkrecords.py FILE FIRST COUNT [BYTES]

Writes COUNT records, written from the format's description and not with our code:
record i holds label i % 3, id i and BYTES bytes of data."""
import struct
import sys


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
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def integers(value):
    return field(3, field(1, varint(value)))


def example(features):
    return field(1, b"".join(field(1, field(1, key) + field(2, value))
                             for key, value in sorted(features.items())))


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def main():
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    size = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    with open(path, "wb") as out:
        for i in range(first, first + count):
            data = (b"%d " % i * size)[:size]
            out.write(frame(example({b"label": integers(i % 3), b"id": integers(i),
                                     b"data": field(1, field(1, data))})))


if __name__ == "__main__":
    main()
