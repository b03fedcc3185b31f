# SPDX-License-Identifier: BSD-2-Clause
"""Files that are cut, overwritten or overstated: named or kept, never a crash or a hang."""
import os
import pathlib
import random
import subprocess
import unittest

from common import FIXTURES, PROGRAM, convert, new_folder, records, run

DATA = pathlib.Path(__file__).resolve().parents[2] / "data/video"


def spoil(data, draw):
    data = bytearray(data)
    kind = draw.randrange(3)
    if kind == 0:
        return data[:draw.randrange(len(data))]
    for _ in range(draw.choice((1, 4, 30))):
        at = draw.randrange(len(data))
        if kind == 1:
            data[at] = draw.randrange(256)
        else:
            data[at:at + 4] = draw.choice((b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"))
    return data


class Hostile(unittest.TestCase):
    def converted(self, source, *arguments):
        done = subprocess.run([PROGRAM, "convert", str(source), "--labels", "none", "-o", str(new_folder() / "x"),
                               *map(str, arguments)], capture_output=True, check=False, timeout=200)
        self.assertIn(done.returncode, (0, 1, 3), done.stderr[-500:])
        for line in done.stderr.decode(errors="replace").splitlines():
            self.assertTrue(line.startswith((str(source), "note: ", "tundish: ")) or " images " in line, line)

    def test_spoiled_videos(self):
        draw, source = random.Random(7), new_folder()
        paths = [DATA / "clip.mp4"]
        if FIXTURES.is_dir():
            paths += [FIXTURES / "made" / name for name in ("vp8.webm", "mpeg4.avi", "broken_tail.ts", "vfr.mp4")]
        for path in paths:
            for i in range(24):
                (source / f"{path.stem}{i}{path.suffix}").write_bytes(spoil(path.read_bytes(), draw))
        self.converted(source, "--frames", "every:7")
        self.converted(source, "--frames", "keys", "--order", "shuffle", "-j", 3, "--max-pixels", 10000)

    def test_spoiled_sound(self):
        draw, source = random.Random(8), new_folder()
        for i in range(40):
            (source / f"{i}.wav").write_bytes(spoil((DATA / "tones.wav").read_bytes(), draw))
        self.converted(source, "--sound", "mono", "--rate", 16000, "--window", ".1")

    def test_names_are_no_addresses(self):
        """A file's name never makes libav open something else."""
        source = new_folder()
        for name in ("concat:a.mp4", "http:x.mp4", "a%d.mp4", "pipe:0.mp4"):
            (source / name).write_bytes((DATA / "clip.mp4").read_bytes())
        self.assertEqual(len(records(convert(source, "--labels", "none", "--frames", "keys"))), 12)
        (source / "list.m3u8").write_text("#EXTM3U\n#EXTINF:1,\nconcat:a.mp4\n")
        (source / "list.mp4").write_text("#EXTM3U\n#EXTINF:1,\nconcat:a.mp4\n")
        text = run("convert", source, "--labels", "none", "-o", new_folder() / "x", code=1)
        self.assertIn("list.mp4: no known video format", text)

    def test_a_pipe_is_not_opened(self):
        source = new_folder()
        os.mkfifo(source / "pipe.mp4")
        (source / "a.mp4").write_bytes((DATA / "clip.mp4").read_bytes())
        self.assertIn("not a regular file", run("convert", source, "--labels", "none", "-o", new_folder() / "x"))


class Extract(unittest.TestCase):
    def test_round_trip(self):
        """What inspect --extract writes is what the records hold, of frames and of clips."""
        for more, key in (([], "image"), (["--clip", 8], "frames")):
            out, files = convert(DATA / "clip.mp4", "--labels", "none", *more), new_folder()
            run("inspect", out, "--extract", files / "x")
            want = [picture for record in records(out) for picture in record[key]]
            got = [file.read_bytes() for file in sorted((files / "x").rglob("*.jpg"))]
            self.assertEqual(sorted(got), sorted(want))
            self.assertEqual(len(got), 24)
