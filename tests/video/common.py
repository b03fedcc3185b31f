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

from records import features, fields, messages, records, values  # noqa: F401, for those who import this

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
