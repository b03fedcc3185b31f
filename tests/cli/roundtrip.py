# SPDX-License-Identifier: BSD-2-Clause
"""usage: roundtrip.py EXPECT-FILE FOLDER SHARD

FOLDER holds the arrays that inspect --extract wrote from SHARD, one a record. Each must
have a checksum that EXPECT-FILE gives for the file that the record names. Prints how many
were compared."""
import ast
import hashlib
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from records import example, frames  # noqa: E402


def expected(path):
    """File's base name -> all checksums that stand below it."""
    sums, name = {}, None
    with open(path) as f:
        for line in f:
            head = re.match(r"== (\S+)", line)
            if head:
                name = os.path.basename(head[1])
            # of Radiance pictures the floats' checksum, else the array's
            found = re.search(r"float\(m\*.* sha ([0-9a-f]{64})", line) or re.search(r" sha256 ([0-9a-f]{64})", line)
            if found and name:
                sums.setdefault(name, set()).add(found[1])
    return sums


def array(path):
    with open(path, "rb") as f:
        d = f.read()
    n = int.from_bytes(d[8:10], "little")
    return ast.literal_eval(d[10:10 + n].split(b"#")[0].decode().strip()), d[10 + n:]


def main():
    sums, done = expected(sys.argv[1]), 0
    for i, record in enumerate(map(example, frames(pathlib.Path(sys.argv[3]).read_bytes()))):
        name = os.path.basename(record["filename"][0].decode())
        head, data = array(f"{sys.argv[2]}/{i:08d}.npy")
        if name.startswith("orient_p"):
            continue
        if name not in sums:
            sys.exit(f"{name}: nothing is expected")
        if hashlib.sha256(data).hexdigest() not in sums[name]:
            sys.exit(f"{name}: another array, {head}")
        done += 1
    print(done)


main()
