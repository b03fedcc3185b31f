# SPDX-License-Identifier: BSD-2-Clause
"""Frames of videos: numbers and times as ffprobe has them, pixels as ffmpeg has them."""
import json
import pathlib
import shutil
import struct
import subprocess
import unittest

import numpy as np

from common import (FIXTURES, PROGRAM, SHARED, convert, digest, features, ffmpeg, fields, messages, needs_ffmpeg,
                    needs_shared, new_folder, probe_frames, records, run, values)

DATA = pathlib.Path(__file__).resolve().parents[2] / "data/video"
KEEP = ["--order", "keep", "--labels", "none"]
GOOD = ["tc_av1_video.mkv", "tc_bt709_full_range.mp4", "tc_h264_10bits.mp4", "tc_h265_10bits.mp4",
        "tc_h265_video.mp4", "tc_nasa_13013.mp4", "made/cfr25_50f.mp4", "made/gap.mp4", "made/mjpeg.avi",
        "made/mpeg4.avi", "made/opengop.mp4", "made/rot90.mp4", "made/vfr.mp4", "made/vp8.webm"]
COUNTS = {"tc_av1_video.mkv": 125, "tc_bt709_full_range.mp4": 30, "tc_h264_10bits.mp4": 30,
          "tc_h265_10bits.mp4": 30, "tc_h265_video.mp4": 10, "tc_nasa_13013.mp4": 325, "made/cfr25_50f.mp4": 50,
          "made/gap.mp4": 50, "made/mjpeg.avi": 50, "made/mpeg4.avi": 50, "made/opengop.mp4": 50,
          "made/rot90.mp4": 50, "made/vfr.mp4": 23, "made/vp8.webm": 50}


def pixels(jpeg):
    """A JPEG as an array, by ffmpeg."""
    size = subprocess.run(["ffprobe", "-v", "quiet", "-f", "jpeg_pipe", "-show_entries", "stream=width,height",
                           "-of", "csv=p=0", "-i", "-"], input=jpeg, capture_output=True, check=True).stdout
    width, height = map(int, size.split(b"\n")[0].split(b","))
    raw = subprocess.run(["ffmpeg", "-v", "error", "-f", "jpeg_pipe", "-i", "-", "-f", "rawvideo", "-pix_fmt",
                          "rgb24", "-"], input=jpeg, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(height, width, 3)


@needs_shared
@needs_ffmpeg
class Fixtures(unittest.TestCase):
    def test_counts_and_times(self):
        for name in GOOD:
            with self.subTest(name):
                path = FIXTURES / name
                made = records(convert(path, *KEEP))
                probed = probe_frames(path)
                base = tuple(map(int, probed["streams"][0]["time_base"].split("/")))
                self.assertEqual(len(made), COUNTS[name])
                self.assertEqual([r["pts"][0] for r in made],
                                 [f["best_effort_timestamp"] for f in probed["frames"]])
                self.assertEqual([r["frame"][0] for r in made], list(range(len(made))))
                self.assertEqual({tuple(r["time_base"]) for r in made}, {base})
                for record in made:
                    self.assertEqual(record["time"][0],
                                     np.float32(record["pts"][0] * base[0] / base[1]))
                self.assertEqual({r["group"][0] for r in made}, {path.name.encode()})

    def test_pixels(self):
        """As ffmpeg turns and scales them, to the last bit."""
        for name in GOOD:
            with self.subTest(name):
                path = FIXTURES / name
                made = records(convert(path, *KEEP, "--reencode", "raw", "--limit", 40))
                raw = ffmpeg("-threads", "1", "-i", path, "-map", "0:v:0", "-sws_flags",
                             "bicubic+accurate_rnd+bitexact+full_chroma_int", "-fps_mode", "passthrough",
                             "-frames:v", len(made), "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
                want = np.frombuffer(raw, np.uint8).reshape(len(made), *made[0]["image/shape"])
                got = np.stack([np.frombuffer(r["image/value"][0], np.uint8) for r in made]).reshape(want.shape)
                # ffmpeg turns luma and chroma before they become RGB
                apart = np.abs(got.astype(int) - want)
                self.assertLess(apart.mean() if "rot" in name else apart.max(), 1)

    def test_turned(self):
        path = FIXTURES / "made/rot90.mp4"
        raw = ffmpeg("-threads", "1", "-noautorotate", "-i", path, "-sws_flags", "bicubic+accurate_rnd+bitexact+full_chroma_int",
                     "-frames:v", 3, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        lying = np.frombuffer(raw, np.uint8).reshape(3, 64, 96, 3)
        for record, frame in zip(records(convert(path, *KEEP, "--reencode", "raw", "--limit", 3)), lying):
            self.assertEqual(record["image/shape"], [96, 64, 3])
            self.assertEqual(record["image/value"][0], np.rot90(frame).tobytes())

    def test_same_from_anywhere(self):
        """Each frame is the same whether it is reached from the front or on its own."""
        for name in GOOD:
            with self.subTest(name):
                path = FIXTURES / name
                kept = {r["frame"][0]: r["image"] for r in records(convert(path, *KEEP, "-j", 1))}
                drawn = {r["frame"][0]: r["image"]
                         for r in records(convert(path, "--labels", "none", "--order", "shuffle", "--limit", 60))}
                self.assertEqual(drawn, {k: v for k, v in kept.items() if k < 60})

    def test_stream_by_number(self):
        made = records(convert(f"{FIXTURES}/tc_nasa_13013.mp4:3", *KEEP, "--frames", "every:100"))
        self.assertEqual([(r["height"], r["width"], r["frame"]) for r in made],
                         [([270], [480], [n]) for n in (0, 100, 200, 300)])
        self.assertEqual(made[1]["pts"], [100100])
        self.assertIn('no video stream "1"',
                      run("convert", f"{FIXTURES}/tc_nasa_13013.mp4:1", "-o", new_folder() / "x", code=3))

    def test_damaged(self):
        for name, count, words in [("made/broken_tail.ts", 29, "1 damaged frames are left out, the first is number 28"),
                                   ("made/broken_tail_faststart.mp4", 28, "cut off or damaged: 28 frames are there")]:
            with self.subTest(name):
                out = new_folder()
                self.assertIn(words, run("convert", FIXTURES / name, *KEEP, "-o", out / "x", code=1))
                self.assertEqual(len(records(out)), count)
        for name, words in [("made/no_moov.mp4", "moov atom not found"), ("made/cover_art_only.m4a", "no video stream")]:
            with self.subTest(name):
                self.assertIn(words, run("convert", FIXTURES / name, "-o", new_folder() / "x", code=3))

    def test_threads(self):
        """The same bytes for any number of threads and any budget, kept and shuffled."""
        source = new_folder()
        for name in ("made/cfr25_50f.mp4", "made/opengop.mp4", "made/vp8.webm", "made/broken_tail.ts"):
            shutil.copy(FIXTURES / name, source)
        for order in ("keep", "shuffle"):
            sums = {digest(convert(source, "--order", order, "-j", j, "--memory", memory, code=1))
                    for j, memory in ((1, "1G"), (2, "64M"), (3, "1G"), (8, "64M"), (99, "1G"))}
            self.assertEqual(len(sums), 1, order)

    def test_limits(self):
        text = run("convert", FIXTURES / "tc_bt709_full_range.mp4", "--max-pixels", 900000, "-o", new_folder() / "x", code=3)
        self.assertIn("1280 x 720 is above the limit of 900000 pixels", text)


def boxes(data, path, at=0, end=None):
    """Where the boxes of an MP4 file are that lie in one another."""
    end = len(data) if end is None else end
    while at < end:
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == path[0]:
            return [(at, size)] + (boxes(data, path[1:], at + 8, at + size) if path[1:] else [])
        at += size
    raise AssertionError(f"no {path[0]} in the file")


def with_edits(data, edits):
    """An MP4 file with other edits: (milliseconds, first unit of the medium or -1)."""
    data = bytearray(data)
    body = struct.pack(">II", 0, len(edits)) + b"".join(struct.pack(">IiI", *edit, 0x10000) for edit in edits)
    *around, (at, size) = boxes(data, [b"moov", b"trak", b"edts", b"elst"])
    data[at:at + size] = struct.pack(">I4s", 8 + len(body), b"elst") + body
    for outer, outer_size in around:
        struct.pack_into(">I", data, outer, outer_size + 8 + len(body) - size)
    return bytes(data)


@needs_ffmpeg
class EditLists(unittest.TestCase):
    """What an MP4 file says is to be shown, and when: as ffprobe and ffmpeg take it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder()
        cls.source = cls.folder / "source.mp4"  # frames for reordering, a key frame a second
        ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=3", "-c:v", "mpeg4", "-g", 25, "-bf", 2,
               "-video_track_timescale", 12800, cls.source)

    def same(self, path, count):
        probed = probe_frames(path)["frames"]
        made = records(convert(path, *KEEP, "--reencode", "raw"))
        self.assertEqual([r["pts"][0] for r in made], [f["best_effort_timestamp"] for f in probed])
        self.assertEqual([r["frame"][0] for r in made], list(range(count)))
        raw = ffmpeg("-threads", "1", "-flags", "bitexact", "-i", path, "-map", "0:v:0", "-sws_flags",
                     "bicubic+accurate_rnd+bitexact+full_chroma_int", "-fps_mode", "passthrough", "-f", "rawvideo",
                     "-pix_fmt", "rgb24", "-")
        self.assertEqual(b"".join(r["image/value"][0] for r in made), raw)
        drawn = records(convert(path, "--labels", "none", "--order", "shuffle", "--reencode", "raw"))
        self.assertEqual(sorted(drawn, key=lambda r: r["frame"]), made)
        clips = records(convert(path, "--labels", "none", "--clip", 5, "--edge", "keep"))
        self.assertEqual([n for c in clips for n in c["pts"]], [r["pts"][0] for r in made])

    def test_cut_between_key_frames(self):
        for name, start, count in (("cut.mp4", 1.1, 47), ("cut.mov", 1.5, 37)):
            with self.subTest(name):
                ffmpeg("-ss", start, "-i", self.source, "-c", "copy", self.folder / name)
                self.same(self.folder / name, count)

    def test_late_start(self):
        path = self.folder / "late.mp4"
        ffmpeg("-itsoffset", .7, "-i", self.source, "-f", "lavfi", "-i", "sine=duration=3", "-map", "0:v", "-map",
               "1:a", "-c:v", "copy", "-c:a", "aac", path)
        self.same(path, 75)
        self.assertGreater(records(convert(path, *KEEP))[0]["time"][0], .69)

    def test_several(self):
        def at(seconds):
            return int(seconds * 12800) + 512
        for name, edits, count in [("two", [(1000, at(0)), (1000, at(2))], 50), ("twice", [(1000, at(0)), (1000, at(0))], 50),
                                   ("back", [(1000, at(2)), (1000, at(0))], 50),
                                   ("many", [(200, at(k * .4)) for k in range(7)], 35),
                                   ("late", [(700, -1), (2000, at(.52))], 50), ("long", [(9000, at(0))], 75)]:
            with self.subTest(name):
                path = self.folder / f"{name}.mp4"
                path.write_bytes(with_edits(self.source.read_bytes(), edits))
                self.same(path, count)

    def test_nothing_is_shown(self):
        for name, edits in (("zero", [(0, 512)]), ("past", [(1000, 90 * 12800)])):
            path = self.folder / f"{name}.mp4"
            path.write_bytes(with_edits(self.source.read_bytes(), edits))
            self.assertIn("no frame decodes", run("convert", path, "-o", new_folder() / "x", code=3))


@needs_shared
class Cases(unittest.TestCase):
    CASES = SHARED / "cases"

    def test_97_variable_rate(self):
        times = [i / 10 for i in range(10)] + [1 + i / 2 for i in range(10)]
        for name in ("vfr.mp4", "vfr.mkv"):
            made = records(convert(self.CASES / "97-video-vfr" / name, *KEEP))
            self.assertEqual(len(made), 20)
            for record, time in zip(made, times):
                self.assertAlmostEqual(record["time"][0], time, delta=0.001)
            made = records(convert(self.CASES / "97-video-vfr" / name, *KEEP, "--frames", "every:5"))
            self.assertEqual([r["frame"][0] for r in made], [0, 5, 10, 15])
        self.assertEqual(len(records(convert(self.CASES / "97-video-vfr/cfr.mp4", *KEEP))), 20)

    @needs_ffmpeg
    def test_97_each_grey_once(self):
        made = records(convert(self.CASES / "97-video-vfr/vfr.mp4", *KEEP))
        for k, record in enumerate(made):
            self.assertLess(abs(pixels(record["image"][0]).mean() - (20 + 10 * k)), 4)

    def test_97_by_rate(self):
        """Those that are shown at 0, 1/2, 1 ... seconds; each at most once."""
        made = records(convert(self.CASES / "97-video-vfr/vfr.mp4", *KEEP, "--frames", "fps:2"))
        self.assertEqual([r["frame"][0] for r in made], [0, 5] + list(range(10, 20)))
        made = records(convert(self.CASES / "97-video-vfr/vfr.mp4", *KEEP, "--frames", "fps:100"))
        self.assertEqual(len(made), 20)
        made = records(convert(self.CASES / "97-video-vfr/vfr.mp4", *KEEP, "--frames", "fps:1/2"))
        self.assertEqual([r["frame"][0] for r in made], [0, 12, 16, 19])

    def test_99_wrong_count(self):
        for name in ("claims-0.avi", "claims-99.avi", "good.avi", "no-duration.mkv"):
            with self.subTest(name):
                self.assertEqual(len(records(convert(self.CASES / "99-video-wrong-count" / name, *KEEP))), 20)

    def test_100_damaged(self):
        out = new_folder()
        source = self.CASES / "100-video-damaged"
        text = run("convert", source, *KEEP, "-o", out / "x", code=1)
        lines = text.splitlines()
        for name, words in [("empty.mp4", "empty file"), ("no-moov.mp4", "moov atom"),
                            ("text.mp4", "no known video format"), ("tail-cut.avi", "cut off"),
                            ("mid-damage.ts", "damaged")]:
            self.assertEqual(len([line for line in lines if name in line and words in line]), 1, (name, text))
        counts = {}
        for record in records(out):
            name = record["group"][0].decode()
            counts[name] = counts.get(name, 0) + 1
        self.assertEqual(counts["ok.ts"], 20)
        self.assertEqual(counts["tail-cut.avi"], 12)
        self.assertIn(counts["mid-damage.ts"], range(17, 21))
        self.assertEqual(len(counts), 3)

    def test_101_streams(self):
        out = new_folder()
        text = run("convert", self.CASES / "101-video-no-picture-stream", *KEEP, "-o", out / "x", code=1)
        for name in ("audio-only.mp4", "audio.wav", "audio-with-cover.m4a"):
            self.assertIn(f"{name}: no video stream", text)
        self.assertIn("2 video streams, number 0 is taken", text)
        made = [r for r in records(out) if "frame" in r]
        self.assertEqual(len(made), 20)
        self.assertEqual({r["group"][0] for r in made}, {b"two-video-streams.mkv"})


@needs_shared
class Clips(unittest.TestCase):
    SOURCE = FIXTURES / "made/vfr.mp4"  # 23 frames

    def numbers(self, *arguments):
        return [r["frame"] for r in records(convert(self.SOURCE, "--labels", "none", *arguments))]

    def test_frames(self):
        single = records(convert(self.SOURCE, *KEEP))
        clips = records(convert(self.SOURCE, "--labels", "none", "--clip", "8"))
        self.assertEqual([c["frame"] for c in clips], [list(range(8)), list(range(8, 16))])
        for clip in clips:
            self.assertEqual(clip["frames"], [single[i]["image"][0] for i in clip["frame"]])
            self.assertEqual(clip["pts"], [single[i]["pts"][0] for i in clip["frame"]])
            self.assertEqual(clip["time"], [single[i]["time"][0] for i in clip["frame"]])
            self.assertEqual((clip["height"], clip["width"]), ([64], [96]))
            self.assertNotIn("image", clip)

    def test_cuts(self):
        self.assertEqual(self.numbers("--clip", "8:5"), [list(range(n, n + 8)) for n in (0, 5, 10, 15)])
        self.assertEqual(self.numbers("--clip", "4:1:3"), [list(range(n, n + 4)) for n in (3, 10, 16)])
        self.assertEqual(self.numbers("--clip", "10", "--edge", "keep")[-1], [20, 21, 22])
        self.assertEqual(self.numbers("--clip", "10", "--edge", "pad")[-1], [20, 21] + 8 * [22])
        self.assertEqual(self.numbers("--clip", "4", "--frames", "every:3"), [[0, 3, 6, 9], [12, 15, 18, 21]])
        text = run("convert", self.SOURCE, "--clip", "24", "-o", new_folder() / "x", code=3)
        self.assertIn("23 frames are too few for a clip of 24", text)

    def test_sequence(self):
        plain = records(convert(self.SOURCE, "--labels", "none", "--clip", "8"))
        out = convert(self.SOURCE, "--labels", "none", "--clip", "8", "--sequence")
        for message, want in zip(messages(out), plain):
            parts = dict(fields(message))
            context = features(parts[1])
            lists = {}
            for _, entry in fields(parts[2]):
                pair = dict(fields(entry))
                lists[pair[1].decode()] = [values(step)[0] for _, step in fields(pair[2])]
            self.assertEqual({**context, **lists}, want)
            self.assertEqual(sorted(lists), ["frame", "frames", "pts", "time"])

    def test_threads(self):
        for more in ([], ["--sequence"]):
            sums = {digest(convert(FIXTURES / "made", "--labels", "none", "--clip", "8:4", "--edge", "keep", "-j", j,
                                   "--memory", memory, *more, code=1))
                    for j, memory in ((1, "1G"), (2, "64M"), (8, "1G"), (99, "64M"))}
            self.assertEqual(len(sums), 1)


@needs_shared
class Inspect(unittest.TestCase):
    def inspect(self, *arguments):
        done = subprocess.run([PROGRAM, "inspect", "--json", *map(str, arguments)], capture_output=True, check=True)
        return json.loads(done.stdout)["sources"][0]

    def test_streams(self):
        about = self.inspect(FIXTURES / "tc_nasa_13013.mp4")
        self.assertEqual([s["type"] for s in about["streams"]], ["video", "audio", "subtitle", "video", "audio", "subtitle"])
        self.assertEqual([about["streams"][3][key] for key in ("codec", "width", "height", "frames_claimed", "rate")],
                         ["h264", 480, 270, 390, "30000/1001"])
        self.assertEqual(about["streams"][1]["channels"], 2)
        rotated = self.inspect(FIXTURES / "made/rot90.mp4")["streams"][0]
        self.assertEqual((rotated["width"], rotated["height"], rotated["rotation"]), (64, 96, 90))

    def test_99_claimed_and_decoded(self):
        path = SHARED / "cases/99-video-wrong-count/claims-99.avi"
        stream = self.inspect("--decode", path)["streams"][0]
        self.assertEqual((stream["frames_claimed"], stream["frames_decoded"]), (99, 20))
        self.assertNotIn("frames_decoded", self.inspect(path)["streams"][0])


@needs_ffmpeg
class Raw(unittest.TestCase):
    """Pixels as they are: to the last bit those of ffmpeg."""

    def test_frames_and_clips(self):
        raw = ffmpeg("-threads", "1", "-i", DATA / "clip.mp4", "-sws_flags", "bicubic+accurate_rnd+bitexact+full_chroma_int",
                     "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        want = np.frombuffer(raw, np.uint8).reshape(24, 64, 96, 3)
        for i, record in enumerate(records(convert(DATA / "clip.mp4", *KEEP, "--reencode", "raw"))):
            self.assertEqual(record["image/shape"], [64, 96, 3])
            self.assertEqual(record["image/value"][0], want[i].tobytes())
        for i, record in enumerate(records(convert(DATA / "clip.mp4", *KEEP, "--reencode", "raw", "--clip", 8))):
            self.assertEqual((record["frames/shape"], record["dtype"]), ([8, 64, 96, 3], [b"uint8"]))
            self.assertEqual(record["frames/value"][0], want[8 * i:8 * i + 8].tobytes())
        small = records(convert(DATA / "clip.mp4", *KEEP, "--reencode", "raw", "--clip", 8, "--shorter-side", 32))[0]
        self.assertEqual((small["frames/shape"], len(small["frames/value"][0])), ([8, 32, 48, 3], 8 * 32 * 48 * 3))
        self.assertIn("raw:uint8 only", run("convert", DATA / "clip.mp4", "--reencode", "raw:uint16", "-o",
                                            new_folder() / "x", code=3))


class Mixed(unittest.TestCase):
    def test_arrays_beside(self):
        """One thread goes from files of one kind to those of another and back."""
        for seed in range(3):
            made = convert(DATA / "clip.mp4", DATA.parent / "arrays/lamp.spe", DATA.parent / "arrays/field.hdr",
                           "--labels", "none", "-j", 1, "--order", "shuffle", "--seed", seed)
            self.assertGreater(len(records(made)), 26)


class Listing(unittest.TestCase):
    """convert --list, without a frame being decoded again."""

    def listed(self, *arguments):
        done = subprocess.run([PROGRAM, "convert", "--list", "--json", *map(str, arguments)], capture_output=True,
                              check=True)
        return [(one["kind"], one["dtype"], one["shape"]) for one in json.loads(done.stdout)["items"]]

    def test_list(self):
        self.assertEqual(self.listed(DATA / "clip.mp4"), 24 * [("frame", "uint8", [64, 96, 3])])
        self.assertEqual(self.listed(DATA / "clip.mp4", "--clip", 10, "--edge", "keep"),
                         [("clip", "uint8", [n, 64, 96, 3]) for n in (10, 10, 4)])
        self.assertEqual(self.listed(DATA / "tones.wav", "--window", ".2"), 2 * [("sound", "float32", [1600, 2])])


class Options(unittest.TestCase):
    def test_words(self):
        for frames in ("some", "every:0", "every:x", "fps:0", "fps:1/0", "fps:-2", "fps:2.0000001"):
            with self.subTest(frames):
                text = run("convert", ".", "--frames", frames, "-o", new_folder() / "x", code=2)
                self.assertIn("frames: ", text)

    def test_clip_words(self):
        for clip in ("0", "8:0", "8:4:0", "8:4:2:1", "x", "8:", "-1"):
            with self.subTest(clip):
                self.assertIn("clip: ", run("convert", ".", "--clip", clip, "-o", new_folder() / "x", code=2))
        self.assertIn("--clip is missing", run("convert", ".", "--sequence", "-o", new_folder() / "x", code=2))

    def test_module_missing(self):
        source = new_folder() / "a.mp4"
        source.write_bytes(b"\0\0\0\x18ftypisom" + bytes(100))
        folder = new_folder()
        text = run("convert", source, "-o", folder / "x", code=3, env={"TUNDISH_MODULES": str(folder)})
        self.assertIn("install tundish-video", text)
