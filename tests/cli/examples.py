# SPDX-License-Identifier: BSD-2-Clause
"""usage: examples.py EXPRESSION FILE...

A Python expression that must hold of r, a list with a dictionary for each record of the
files, in their order: name -> list of values (int, float, bytes)."""
import math
import struct
import sys


def varint(d, at):
    n = shift = 0
    while True:
        n |= (d[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if d[at - 1] < 128:
            return n, at


def fields(d):
    at = 0
    while at < len(d):
        tag, at = varint(d, at)
        n, at = varint(d, at)
        yield tag >> 3, d[at:at + n]
        at += n


def values(kind, d):
    out = []
    if kind == 1:
        return [v for _, v in fields(d)]
    data = b"".join(v for _, v in fields(d))
    if kind == 2:
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    at = 0
    while at < len(data):
        n, at = varint(data, at)
        out.append(n - (1 << 64) if n >> 63 else n)
    return out


def example(d):
    out = {}
    for _, features in fields(d):
        for _, entry in fields(features):
            e = dict(fields(entry))
            got = list(fields(e.get(2, b"")))
            out[e[1].decode()] = values(*got[0]) if got else []
    return out


def doubles(v):
    return list(struct.unpack(f"<{len(v[0]) // 8}d", v[0]))


def near(a, b, rel=1e-12):
    return len(a) == len(b) and all(math.isclose(x, y, rel_tol=rel) for x, y in zip(a, b))


def records(names):
    r = []
    for name in names:
        with open(name, "rb") as f:
            d = f.read()
        at = 0
        while at < len(d):
            n, = struct.unpack_from("<Q", d, at)
            r.append(example(d[at + 12:at + 12 + n]))
            at += n + 16
    return r


def main():
    r = records(sys.argv[2:])
    if not eval(sys.argv[1], {**globals(), "r": r}):
        print("does not hold:", sys.argv[1])
        for one in r[:4]:
            print({k: v if len(str(v)) < 300 else "..." for k, v in one.items()})
        sys.exit(1)


if __name__ == "__main__":
    main()
