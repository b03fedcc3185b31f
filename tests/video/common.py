# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of videos and sound share: the programs, records as dictionaries."""
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TUNDISH"]
SHARED = pathlib.Path(os.environ.get("TUNDISH_SHARED") or "../shared")
FIXTURES = SHARED / "fixtures/formats/video"
FOLDERS = tempfile.TemporaryDirectory(prefix="tundish-video-")
FFMPEG = shutil.which("ffmpeg")

needs_shared = unittest.skipUnless(FIXTURES.is_dir(), "no ../shared")
needs_ffmpeg = unittest.skipUnless(FFMPEG and shutil.which("ffprobe"), "no ffmpeg")


def new_folder():
    return pathlib.Path(tempfile.mkdtemp(dir=FOLDERS.name))


def run(*arguments, code=0, **more):
    """The program; its standard error as text."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False,
                          timeout=120, **more)
    text = done.stderr.decode(errors="replace")
    if code is not None and done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}, not {code}: {text}")
    return text


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


def messages(folder):
    """The data of all records of a folder, in the order of the file names."""
    for file in sorted(folder.glob("*-of-*")):
        data, at = file.read_bytes(), 0
        while at < len(data):
            length, = struct.unpack_from("<Q", data, at)
            yield data[at + 12:at + 12 + length]
            at += length + 16


def records(folder):
    return [features(dict(fields(data))[1]) for data in messages(folder)]


def convert(*arguments, code=0):
    """Converts and gives the folder."""
    out = new_folder()
    run("convert", *arguments, "-o", out / "set", code=code)
    return out


def digest(folder):
    """One checksum over all files of a folder."""
    sum_ = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            sum_.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return sum_.hexdigest()


def ffmpeg(*arguments):
    done = subprocess.run([FFMPEG, "-v", "error", "-nostdin", *map(str, arguments)], capture_output=True,
                          check=True, timeout=120)
    return done.stdout


def probe_frames(path, stream="v:0"):
    """What ffprobe says of each frame of a stream."""
    done = subprocess.run(["ffprobe", "-v", "quiet", "-threads", "1", "-select_streams", stream, "-show_frames",
                           "-show_streams", "-of", "json", str(path)], capture_output=True, check=True, timeout=120)
    return json.loads(done.stdout)
