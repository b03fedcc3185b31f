# SPDX-License-Identifier: BSD-2-Clause
"""Sound as samples, as ffmpeg has them."""
import pathlib
import shutil
import unittest

import numpy as np

from common import FIXTURES, SHARED, convert, digest, ffmpeg, needs_ffmpeg, needs_shared, new_folder, records, run

DATA = pathlib.Path(__file__).resolve().parents[2] / "data/video"
TONES = DATA / "tones.wav"  # 4000 samples of 2 channels at 8000 Hz
KEEP = ["--order", "keep", "--labels", "none"]
TYPES = {b"float32": np.float32, b"int16": np.int16}


def samples(record):
    """The array of a record."""
    array = np.frombuffer((record.get("audio") or record["audio/value"])[0], TYPES[record["dtype"][0]])
    channels = record["channels"][0]
    return array.reshape(-1, channels) if channels > 1 else array


def whole(path, *arguments):
    made = records(convert(path, *KEEP, *arguments))
    if len(made) != 1:
        raise AssertionError(f"{len(made)} records")
    return made[0]


class Wave(unittest.TestCase):
    """The sample file, whose bytes are known."""

    RAW = np.frombuffer(TONES.read_bytes()[-16000:], "<i2").reshape(4000, 2)

    def test_as_it_is(self):
        record = whole(TONES, "--sound", "all:int16")
        self.assertTrue(np.array_equal(samples(record), self.RAW))
        self.assertEqual((record["rate"], record["channels"], record["filename"]), ([8000], [2], [b"tones.wav"]))
        self.assertNotIn("group", record)
        self.assertTrue(np.array_equal(samples(whole(TONES, "--sound", "all")), self.RAW / np.float32(32768)))
        mono = samples(whole(TONES, "--sound", "mono"))
        self.assertLess(np.abs(mono - self.RAW.mean(axis=1) / 32768).max(), 1e-6)

    def test_windows(self):
        for words, edge, starts, lengths in [
                ("0.1", "drop", [0, 800, 1600, 2400, 3200], 5 * [800]),
                ("0.15", "drop", [0, 1200, 2400], 3 * [1200]),
                ("0.15", "keep", [0, 1200, 2400, 3600], [1200, 1200, 1200, 400]),
                ("0.15", "pad", [0, 1200, 2400, 3600], 4 * [1200]),
                ("0.2:0.05", "drop", list(range(0, 2401, 400)), 7 * [1600])]:
            with self.subTest((words, edge)):
                made = records(convert(TONES, "--labels", "none", "--sound", "all:int16", "--window", words,
                                       "--edge", edge))
                self.assertEqual([r["sample"][0] for r in made], starts)
                self.assertEqual([r["time"][0] for r in made], [np.float32(start / 8000) for start in starts])
                self.assertEqual({r["group"][0] for r in made}, {b"tones.wav"})
                for record, start, length in zip(made, starts, lengths):
                    want = np.zeros((length, 2), np.int16)
                    part = self.RAW[start:start + length]
                    want[:len(part)] = part
                    self.assertTrue(np.array_equal(samples(record), want))
                    self.assertEqual("audio" in record, edge != "keep")
                    if edge == "keep":
                        self.assertEqual(record["audio/shape"], [length, 2])

    def test_shuffled_windows(self):
        words = ["--labels", "none", "--window", "0.05", "--rate", "11025"]
        kept = {r["sample"][0]: r["audio"] for r in records(convert(TONES, *words))}
        drawn = {r["sample"][0]: r["audio"] for r in records(convert(TONES, *words, "--order", "shuffle"))}
        self.assertEqual(kept, drawn)
        self.assertEqual(len(kept), 10)

    def test_threads(self):
        source = new_folder()
        for i in range(5):
            shutil.copy(TONES, source / f"{i}.wav")
        sums = {digest(convert(source, "--sound", "mono", "--rate", 16000, "--window", ".05:.02", "-j", j,
                               "--memory", memory))
                for j, memory in ((1, "1G"), (2, "64M"), (3, "1G"), (8, "64M"), (99, "1G"))}
        self.assertEqual(len(sums), 1)

    def test_short_and_cut(self):
        source = new_folder() / "cut.wav"
        source.write_bytes(TONES.read_bytes()[:10001])
        out = new_folder()
        self.assertIn("samples are too few for a window of 16000",
                      run("convert", TONES, "--window", 2, "-o", out / "x", code=3))
        run("convert", source, "--sound", "all:int16", "-o", out / "x", code=None)
        got = samples(records(out)[0])
        self.assertTrue(np.array_equal(got, self.RAW[:len(got)]))
        self.assertGreater(len(got), 2400)

    def test_words(self):
        for option, words in [("--sound", "stereo"), ("--sound", "mono:int8"), ("--window", "0"), ("--window", "1:"),
                              ("--window", "1:-1"), ("--rate", "0")]:
            with self.subTest((option, words)):
                self.assertIn(option[2:], run("convert", TONES, option, words, "-o", new_folder() / "x", code=2))
        self.assertIn("convert either", run("convert", TONES, "--sound", "mono", "--clip", 8, "-o", "x", code=2))


@needs_shared
@needs_ffmpeg
class LikeFfmpeg(unittest.TestCase):
    FILES = [FIXTURES / "tc_nasa_13013.mp4", FIXTURES / "made/cover_art_only.m4a",
             SHARED / "cases/101-video-no-picture-stream/audio-only.mp4",
             SHARED / "cases/101-video-no-picture-stream/audio.wav", TONES]

    def test_same_samples(self):
        for path in self.FILES:
            for rate in (None, 16000, 44100):
                for mono in (False, True):
                    for form, code, dtype in (("float32", "f32le", "<f4"), ("int16", "s16le", "<i2")):
                        with self.subTest((path.name, rate, mono, form)):
                            more = ["--rate", rate] if rate else []
                            got = samples(whole(path, "--sound", f"{'mono' if mono else 'all'}:{form}", *more))
                            words = ["rematrix_maxval=1", f"osf={'flt' if form == 'float32' else 's16'}"]
                            words += [f"osr={rate}"] if rate else []
                            raw = ffmpeg("-bitexact", "-i", path, "-map", "0:a:0", "-af",
                                         f"aresample={':'.join(words)}", *(["-ac", 1] if mono else []), "-f", code, "-")
                            want = np.frombuffer(raw, dtype).reshape(got.shape)
                            self.assertTrue(np.array_equal(got, want), np.abs(got.astype(float) - want).max())

    def test_no_sound(self):
        text = run("convert", FIXTURES / "made/vfr.mp4", "--sound", "mono", "-o", new_folder() / "x", code=3)
        self.assertIn("no sound stream", text)
        text = run("convert", self.FILES[2], "-o", new_folder() / "x", code=3)
        self.assertIn("no video stream (--sound takes its sound)", text)
