# SPDX-License-Identifier: BSD-2-Clause
"""BMP, GIF, TIFF and WebP: kept, decoded, encoded anew, refused without the module."""
import hashlib
import os
import pathlib
import shutil
import struct
import subprocess
import unittest

import numpy as np

from common import PROGRAM, SHARED, convert, digest, ffmpeg, needs_ffmpeg, needs_shared, new_folder, records, run

CASE = SHARED / "cases/33-disguised-formats"
LOSSLESS = "95108cafe6ff2e2d308c693a65596c329673b19ead0ee41800e94291d81fcc26"
SUFFIXES = ("bmp", "gif", "tif")
WEBP = pathlib.Path(__file__).resolve().parents[1] / "golden/webp"


def raw(path, *arguments):
    """The pixels as convert decodes them, and as ffmpeg does."""
    record = records(convert(path, "--labels", "none", "--reencode", "raw", *arguments))[0]
    return np.frombuffer(record["image/value"][0], np.uint8).reshape(record["image/shape"])


@needs_shared
class Case33(unittest.TestCase):
    def test_kept(self):
        out = new_folder()
        text = run("convert", CASE / "in", "--keys", "slim", "-o", out / "x", code=1)
        self.assertIn("html-named.jpg: no known format", text)
        self.assertIn("text-named.png: no known format", text)
        made = {r["image/filename"][0].decode(): r for r in records(out)}
        self.assertEqual(len(made), 7)
        for name, record in made.items():
            kind = name.split("/")[1].split("-")[0].encode()
            if kind != b"no":
                self.assertEqual(record["image/format"][0], kind)
            self.assertEqual(record["image/encoded"][0], (CASE / "in" / name).read_bytes())
            self.assertEqual((record["image/height"], record["image/width"]), ([24], [32]))

    def test_lossless_ones(self):
        for record in records(convert(CASE / "in", "--reencode", "raw", "--keys", "slim", code=1)):
            kind = record["image/filename"][0].decode().split("/")[1].split("-")[0]
            if kind in ("png", "bmp", "webp", "tiff"):
                self.assertEqual(hashlib.sha256(record["image/encoded/value"][0]).hexdigest(), LOSSLESS, kind)

    def test_fed(self):
        """A set of them goes through feed, in whatever way it is read."""
        out = convert(CASE / "in", code=1)
        run("feed", out, "--batch", 4, "--to", "hash")

    def test_without_the_module(self):
        folder = new_folder()
        text = run("convert", CASE / "in", "-o", folder / "x", code=1,
                   env={**os.environ, "TUNDISH_MODULES": str(folder)})
        for kind in ("BMP", "GIF", "TIFF", "WebP"):
            self.assertIn(f"{kind} is not supported: the pictures module is missing", text)
        self.assertEqual(len(records(folder)), 3)


class WebP(unittest.TestCase):
    """Against Pillow."""
    names = ("lossy", "lossy-alpha", "lossless-alpha", "animated", "offset")

    @classmethod
    def setUpClass(cls):
        if "needs libwebp" in run("convert", WEBP / "lossy.webp", "-o", new_folder() / "x", code=None):
            raise unittest.SkipTest("built without libwebp")

    def test_pixels(self):
        for name in self.names:
            rgba = np.load(WEBP / f"{name}.npy").astype(int)
            alpha = rgba[..., 3:]
            for wish, level in (("drop", None), ("black", 0), ("white", 255)):
                with self.subTest((name, wish)):
                    want = rgba[..., :3] if level is None else (rgba[..., :3] * alpha + level * (255 - alpha) + 127) // 255
                    self.assertTrue(np.array_equal(raw(WEBP / f"{name}.webp", "--alpha", wish), want))

    def test_kept(self):
        """The canvas is the size, and the bytes stay."""
        record = records(convert(WEBP / "offset.webp", "--labels", "none", "--keys", "slim"))[0]
        self.assertEqual(record["image/encoded"][0], (WEBP / "offset.webp").read_bytes())
        self.assertEqual((record["image/height"], record["image/width"]), ([40], [50]))

    def test_damaged(self):
        """Cut at each byte, or with one turned: bad, or as large as its header says."""
        for name in ("animated", "lossless-alpha"):
            data = (WEBP / f"{name}.webp").read_bytes()
            cut, turned = new_folder(), new_folder()
            for n in range(16, len(data), 7):
                (cut / f"{n:04}.webp").write_bytes(data[:n])
                (turned / f"{n:04}.webp").write_bytes(data[:n] + bytes([data[n] ^ 0x55]) + data[n + 1:])
            run("convert", cut, "--labels", "none", "-o", new_folder() / "x", code=3)
            done = subprocess.run([PROGRAM, "convert", turned, "--labels", "none", "--reencode", "raw", "--max-pixels",
                                   "100000", "-o", new_folder() / "x"], capture_output=True, check=False, timeout=60)
            self.assertIn(done.returncode, (0, 1), done.stderr)


class Deep(unittest.TestCase):
    def test_floats(self):
        """A TIFF of floats has no 8 bits to give: refused, not guessed."""
        tags = [(256, 4), (257, 2), (258, 32), (259, 1), (262, 1), (273, 8), (277, 1), (278, 2), (279, 32), (339, 3)]
        data = b"II*\0" + (40).to_bytes(4, "little") + bytes(32) + len(tags).to_bytes(2, "little")
        data += b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags) + bytes(4)
        path = new_folder() / "a.tif"
        path.write_bytes(data)
        self.assertIn("TIFF does not decode", run("convert", path, "-o", new_folder() / "x", code=3))


@needs_ffmpeg
class Made(unittest.TestCase):
    """Pictures that ffmpeg writes."""

    def make(self, suffix, *arguments, size="36x22"):
        path = new_folder() / f"a.{suffix}"
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=size={size}", "-frames:v", 1, *arguments, path)
        return path

    def test_pixels(self):
        for suffix, form in [("bmp", "bgr24"), ("bmp", "pal8"), ("bmp", "gray"), ("bmp", "bgra"), ("gif", "bgr8"),
                             ("tif", "rgb24"), ("tif", "gray"), ("tif", "pal8"), ("tif", "rgba"), ("tif", "monob")]:
            with self.subTest((suffix, form)):
                path = self.make(suffix, "-pix_fmt", form)
                want = np.frombuffer(ffmpeg("-i", path, "-frames:v", 1, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"), np.uint8)
                self.assertTrue(np.array_equal(raw(path), want.reshape(22, 36, 3)))

    def test_alpha(self):
        """Laid over what --alpha says, though nothing else is wished; else the bytes stay."""
        gif = new_folder() / "a.gif"
        gif.write_bytes(b"GIF89a\1\0\1\0\x80\0\0\xff\0\0\0\0\0!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;")
        tif, bmp = new_folder() / "a.tif", new_folder() / "a.bmp"
        ffmpeg("-f", "lavfi", "-i", "color=red@0.5:size=20x10,format=rgba", "-frames:v", 1, "-pix_fmt", "rgba", tif)
        bmp.write_bytes(b"BM" + struct.pack("<IIIIiiHHIIiiIIIIII", 198, 0, 122, 108, 4, 4, 1, 32, 3, 64, 0, 0, 0, 0,
                                            0xff0000, 0xff00, 0xff, 0xff000000) + bytes(52) + bytes([0, 0, 255, 128]) * 16)
        for path in (gif, tif, bmp):
            with self.subTest(path.suffix):
                record = records(convert(path, "--labels", "none", "--keys", "slim"))[0]
                self.assertEqual(record["image/encoded"][0], path.read_bytes())
                self.assertTrue(record["image/colorspace"][0].endswith(b"+alpha"), record["image/colorspace"])
                record = records(convert(path, "--labels", "none", "--keys", "slim", "--alpha", "white"))[0]
                self.assertEqual(record["image/format"][0], b"png")
                over = 255 if path == gif else 127
                self.assertTrue((abs(raw(path, "--alpha", "white")[..., 1].astype(int) - over) < 2).all())

    def test_sixteen_bits(self):
        """The upper byte."""
        path = self.make("tif", "-pix_fmt", "rgb48le")
        want = np.frombuffer(ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb48le", "-"), "<u2") >> 8
        self.assertTrue(np.array_equal(raw(path), want.reshape(22, 36, 3)))

    def test_changed(self):
        for suffix in SUFFIXES:
            path = self.make(suffix, size="64x48")
            made = records(convert(path, "--labels", "none", "--shorter-side", 24, "--keys", "slim"))[0]
            self.assertEqual((made["image/height"], made["image/width"]), ([24], [32]))
            self.assertEqual(made["image/format"][0], b"png")
            made = records(convert(path, "--labels", "none", "--reencode", "jpeg:90", "--keys", "slim"))[0]
            self.assertEqual(made["image/format"][0], b"jpeg")

    def test_damaged(self):
        """Cut at each place: bad, or the whole picture; never more than is there."""
        for suffix in SUFFIXES:
            path = self.make(suffix)
            data = path.read_bytes()
            source = new_folder()
            for n in range(1, 40):
                (source / f"{n:02}.{suffix}").write_bytes(data[:len(data) * n // 40])
            out = new_folder()
            done = subprocess.run([PROGRAM, "convert", str(source), "--labels", "none", "-o", str(out / "x")],
                                  capture_output=True, check=False, timeout=60)
            self.assertIn(done.returncode, (1, 3), done.stderr)

    def test_huge(self):
        path = self.make("bmp")
        data = bytearray(path.read_bytes())
        data[18:26] = (60000).to_bytes(4, "little") * 2
        path.write_bytes(data)
        self.assertIn("60000 x 60000 is above the limit", run("convert", path, "-o", new_folder() / "x", code=3))

    def test_threads(self):
        source = new_folder()
        for i, suffix in enumerate(SUFFIXES * 5):
            shutil.copy(self.make(suffix), source / f"{i}.{suffix}")
        sums = {digest(convert(source, "--labels", "none", "--reencode", "png", "-j", j)) for j in (1, 2, 3, 8, 99)}
        self.assertEqual(len(sums), 1)
