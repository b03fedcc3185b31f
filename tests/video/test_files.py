# SPDX-License-Identifier: BSD-2-Clause
"""Frames as files whose names tell their times, and back."""
import pathlib
import shutil
import unittest

from common import convert, digest, new_folder, records, run

DATA = pathlib.Path(__file__).resolve().parents[2] / "data/video"
CLIP = DATA / "clip.mp4"


class Files(unittest.TestCase):
    def test_there_and_back(self):
        """The records of the frames are those of the video, but for what only it knows."""
        source, out = new_folder(), new_folder()
        for name in ("cats/a.mp4", "dogs/b.x.mp4", "dogs/c.mp4"):
            (source / name).parent.mkdir(exist_ok=True)
            shutil.copy(CLIP, source / name)
        run("convert", source, "--to", f"jpg:{out}/frames", "--frames", "every:4")
        names = sorted(str(file.relative_to(out / "frames")) for file in out.rglob("*.*") if file.is_file())
        self.assertEqual(len(names), 18)
        self.assertEqual(names[:2], ["cats/a.mp4.000000.t0.000000000.jpg", "cats/a.mp4.000004.t0.333333333.jpg"])
        straight = records(convert(source, "--frames", "every:4", "--align", f"imu={DATA}/clip.csv"))
        back = records(convert(out / "frames", "--align", f"imu={DATA}/clip.csv"))
        self.assertEqual(len(back), 18)
        for a, b in zip(straight, back):
            self.assertEqual(b["filename"][0][:len(a["filename"][0])], a["filename"][0])
            for only_there in ("filename", "pts", "time_base"):
                a.pop(only_there), b.pop(only_there, None)
            for x, y in zip(a.pop("imu"), b.pop("imu")):
                self.assertAlmostEqual(x, y, places=6)
            self.assertEqual(a, b)

    def test_two_of_one_name(self):
        source = new_folder()
        for folder in ("a", "b"):
            (source / folder / "s").mkdir(parents=True)
            shutil.copy(CLIP.parents[1] / "photos/cat/cat_00.jpg", source / folder / "s/x.jpg")
        said = run("convert", source / "a/s", source / "b/s", "--to", f"jpg:{source}/out", code=2)
        self.assertIn("two items would be s/x.jpg", said)

    def test_suffixes(self):
        """They say what the files are; names that would be one file are refused."""
        photos, source = CLIP.parents[1] / "photos/cat", new_folder()
        for n, name in enumerate(("a.jpg", "b.JPEG", "c.png", "d.v2", "e", "f.bmp.jpg")):
            shutil.copy(photos / f"cat_0{n}.jpg", source / name)
        for form, names in (("jpg", ["a.jpg", "b.JPEG", "c.jpg", "d.v2.jpg", "e.jpg", "f.bmp.jpg"]),
                            ("png", ["a.png", "b.png", "c.png", "d.v2.png", "e.png", "f.bmp.png"])):
            out = new_folder() / form
            run("convert", source, "--to", f"{form}:{out}")
            self.assertEqual(sorted(file.name for file in out.iterdir()), names)
            mark = b"\x89PNG" if form == "png" else b"\xff\xd8"
            for file in out.iterdir():
                self.assertTrue(file.read_bytes().startswith(mark), file)
            if form == "jpg":  # bytes are kept, but where a form is asked for
                self.assertEqual((out / "b.JPEG").read_bytes(), (photos / "cat_01.jpg").read_bytes())
                run("convert", source, "--to", f"{form}:{out}", "--reencode", "jpeg:80", "--overwrite")
                self.assertNotEqual((out / "b.JPEG").read_bytes(), (photos / "cat_01.jpg").read_bytes())
        shutil.copy(photos / "cat_07.jpg", source / "a.png")
        said = run("convert", source, "--to", f"png:{new_folder()}/x", code=2)
        self.assertIn("two items would be a.png", said)
        (source / "a.png").unlink()
        (source / "c.jpg").mkdir()
        shutil.copy(photos / "cat_07.jpg", source / "c.jpg")
        said = run("convert", source, "--to", f"jpg:{new_folder()}/x", code=2)
        self.assertIn("c.jpg would be a file and a folder", said)
        run("convert", CLIP, "--to", f"jpg:{source}/f", "--limit", 1)
        run("convert", source / "f", "--to", f"png:{source}/g")
        self.assertEqual([file.name for file in (source / "g").iterdir()], ["clip.mp4.000000.t0.000000000.png"])

    def test_long_names(self):
        """A name that no file can have makes its frames bad, and only these."""
        source, out = new_folder(), new_folder() / "x"
        for name in ("v" * 240, "w"):
            shutil.copy(CLIP, source / f"{name}.mp4")
        said = run("convert", source, "--to", f"jpg:{out}", "--frames", "every:12", code=1)
        self.assertEqual(said.count("its file would have a name of more than 249 bytes"), 2)
        self.assertEqual(len(list(out.iterdir())), 2)

    def test_same_files(self):
        sums = set()
        for j in (1, 2, 8, 99):
            out = new_folder()
            run("convert", CLIP, "--to", f"png:{out}/f", "--shorter-side", 32, "-j", j)
            sums.add(digest(out))
        self.assertEqual(len(sums), 1)

    def test_groups_are_not_divided(self):
        source, out = new_folder(), new_folder()
        for i in range(5):
            shutil.copy(CLIP, source / f"{i}.mp4")
        run("convert", source, "--to", f"jpg:{out}/f", "--frames", "keys")
        made = convert(out / "f", "--labels", "none", "--split", "train=.6,val=.4")
        groups = [set(), set()]
        for k, split in enumerate(("train", "val")):
            for file in list(made.glob("*-of-*")):
                if split not in file.name:
                    continue
                lone = new_folder()
                shutil.copy(file, lone)
                groups[k] |= {r["group"][0] for r in records(lone)}
        self.assertEqual([len(g) for g in groups], [3, 2])
        self.assertFalse(groups[0] & groups[1])

    def test_refused(self):
        out = new_folder()
        (out / "x").write_text("")
        self.assertIn("is not empty", run("convert", CLIP, "--to", f"jpg:{out}", code=2))
        run("convert", CLIP, "--to", f"jpg:{out}", "--overwrite", "--limit", 2)
        self.assertEqual(len(list(out.iterdir())), 3)
        for more in (["--to", "gif:x"], ["--to", "jpg:"], ["--to", "jpg:x", "-o", "a/b"], ["--to", "jpg:x", "--clip", 4],
                     ["--to", "jpg:x", "--reencode", "png"], ["--to", "jpg:x", "--shards", 3]):
            with self.subTest(more):
                self.assertIn("to: ", run("convert", CLIP, *more, code=2))
        self.assertFalse((out / "a").exists())
