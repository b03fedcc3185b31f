# SPDX-License-Identifier: BSD-2-Clause
"""Time series beside the frames, against numpy.interp."""
import pathlib
import shutil
import unittest

import numpy as np

from common import convert, digest, new_folder, records, run

DATA = pathlib.Path(__file__).resolve().parents[2] / "data/video"
CLIP = DATA / "clip.mp4"  # 24 frames from 0 to 2.83 s
TABLE = np.loadtxt(DATA / "clip.csv", delimiter=",", skiprows=1)
KEEP = ["--labels", "none", "--order", "keep"]


def times(record):
    base = record["time_base"]
    return np.array(record["pts"]) * base[0] / base[1]


def wanted(table, at):
    return np.stack([np.interp(at, table[:, 0], column) for column in table[:, 1:].T], -1).astype(np.float32)


class Align(unittest.TestCase):
    def same(self, made, table, key="imu", offset=0.0):
        for record in made:
            want = wanted(table, times(record) + offset)
            self.assertTrue(np.array_equal(np.array(record[key], np.float32), want.ravel()))

    def test_frames_and_clips(self):
        words = f"imu={DATA}/clip.csv,time=t,columns=ax:ay:az"
        self.assertGreater(TABLE[-1, 0], 2.7)
        for more in ([], ["--clip", 8], ["--clip", "10:5", "--edge", "keep"]):
            made = records(convert(CLIP, *KEEP, "--align", words, *more))
            self.same(made, TABLE)
        self.assertEqual(len(records(convert(CLIP, *KEEP, "--align", words, "--clip", 8))[0]["imu"]), 24)

    def test_columns(self):
        self.same(records(convert(CLIP, *KEEP, "--align", f"imu={DATA}/clip.csv")), TABLE)
        self.same(records(convert(CLIP, *KEEP, "--align", f"imu={DATA}/clip.csv,columns=4:ax")), TABLE[:, [0, 3, 1]])
        made = records(convert(CLIP, *KEEP, "--align",
                               f"a={DATA}/clip.csv,columns=ay;b={DATA}/clip.csv,columns=az,offset=-0.25"))
        self.same(made, TABLE[:, [0, 2]], "a")
        self.same(made, TABLE[:, [0, 3]], "b", -0.25)

    def test_clamped(self):
        """Before the first and behind the last row their values stand."""
        table = new_folder() / "short.csv"
        table.write_text("1.0,5\n1.5,7\n")
        made = records(convert(CLIP, *KEEP, "--align", f"v={table}"))
        self.same(made, np.array([[1.0, 5], [1.5, 7]]), "v")
        self.assertEqual((made[0]["v"], made[-1]["v"]), ([5.0], [7.0]))

    def test_own_tables(self):
        """One beside each video, named after it; a video without one is bad."""
        source = new_folder()
        for k, name in enumerate(("a", "b", "c")):
            shutil.copy(CLIP, source / f"{name}.mp4")
            if name != "c":
                np.savetxt(source / f"{name}_imu.csv", TABLE * [1, k + 1, k + 1, k + 1], delimiter=",")
        out = new_folder()
        text = run("convert", source, *KEEP, "--align", "imu={stem}_imu.csv", "-o", out / "x", code=1)
        self.assertIn("c.mp4: ", text)
        self.assertIn("c_imu.csv: ", text)
        made = records(out)
        self.assertEqual(len(made), 48)
        for k, name in enumerate((b"a.mp4", b"b.mp4")):
            self.same([r for r in made if r["group"][0] == name], TABLE * [1, k + 1, k + 1, k + 1])
        sums = {digest(convert(source, "--labels", "none", "--align", "imu={folder}/a_imu.csv", "--clip", 4, "-j", j))
                for j in (1, 2, 3, 8, 99)}
        self.assertEqual(len(sums), 1)

    def test_gaps(self):
        table = new_folder() / "gap.csv"
        np.savetxt(table, TABLE[(TABLE[:, 0] < 1) | (TABLE[:, 0] > 1.9)], delimiter=",")
        words = ["--align", f"imu={table}"]
        text = run("convert", CLIP, *KEEP, *words, "--max-gap", ".5", "-o", new_folder() / "x")
        self.assertIn("gap.csv for 0.94 s from 0.98 s on", text)
        text = run("convert", CLIP, *KEEP, *words, "--max-gap", "1", "-o", new_folder() / "x")
        self.assertNotIn("gap.csv", text)

    def test_gaps_between_pictures(self):
        """Frames that are files of their own: gaps are told of each video there."""
        source, out = new_folder(), new_folder()
        for name in ("a.mp4", "b.mp4"):
            shutil.copy(CLIP, source / name)
        run("convert", source, "--to", f"jpg:{out}/f")
        gap = TABLE[(TABLE[:, 0] < 1) | (TABLE[:, 0] > 1.9)]
        np.savetxt(out / "gap.csv", gap, delimiter=",")
        words = ["--labels", "none", "--align", f"imu={out}/gap.csv"]
        text = run("convert", out / "f", *words, "--max-gap", ".5", "-o", new_folder() / "x")
        for name in ("a", "b"):
            self.assertIn(f"{out}/f/{name}.mp4: no row of {out}/gap.csv for 0.94 s from 0.98 s on", text)
        self.assertEqual(text.count("no row of"), 2)
        self.assertNotIn("no row of", run("convert", out / "f", *words, "--max-gap", "1", "-o", new_folder() / "x"))

    def test_own_tables_of_pictures(self):
        """The table of a frame that is a file is that of its video; one without is bad."""
        source, out = new_folder(), new_folder()
        for name in ("a.mp4", "b.mp4"):
            shutil.copy(CLIP, source / name)
        run("convert", source, "--to", f"jpg:{out}/f", "--frames", "every:6")
        np.savetxt(out / "f/a_imu.csv", TABLE[(TABLE[:, 0] < 1) | (TABLE[:, 0] > 1.9)], delimiter=",")
        text = run("convert", out / "f", *KEEP, "--align", "imu={stem}_imu.csv", "--max-gap", ".5", "-o", out / "x/x",
                   code=1)
        self.assertEqual((text.count("no row of"), text.count("b_imu.csv: ")), (1, 4), text)
        self.assertEqual([r["group"] for r in records(out / "x")], 4 * [[b"a.mp4"]])
        self.assertIn('"imu"', (out / "x/features.json").read_text())
        (out / "f/b_imu.csv").write_text("0,1,2,3\n")
        made = records(convert(out / "f", *KEEP, "--align", "imu={stem}_imu.csv"))
        self.assertEqual([r["imu"] for r in made[4:]], 4 * [[1.0, 2.0, 3.0]])

    def test_bad_tables(self):
        folder = new_folder()
        for text, words in [("t,x\n0,1\n1,a\n", 'row 3: "a" is no number'), ("t,x\n0,1\n1\n", "row 3 has 1 cells"),
                            ("1,2\n0,3\n", "row 2: time goes back"), ("t,x\n", "no rows of numbers"), ("", "no rows"),
                            ('0,"1\n', "row 1: quotes are opened and not closed"), ('0,1\n1,2"3"\n', "row 2: a quote stands"), ("0,1\nnan,2\n", "time goes back")]:
            with self.subTest(text):
                (folder / "bad.csv").write_text(text)
                self.assertIn(words, run("convert", CLIP, "--align", f"imu={folder}/bad.csv", "-o", folder / "x",
                                         code=2))
                self.assertFalse((folder / "x-train.tfrecord-00000-of-00001").exists())
        for words in ("imu", "=x.csv", "imu=", "imu=x.csv,when=t", f"imu={DATA}/clip.csv,time=nothing",
                      f"imu={DATA}/clip.csv,offset=x", f"imu={DATA}/clip.csv,columns="):
            with self.subTest(words):
                run("convert", CLIP, "--align", words, "-o", folder / "x", code=2)
        self.assertIn("max-gap", run("convert", CLIP, "--max-gap", "1", "-o", folder / "x", code=2))
        run("convert", CLIP, "--align", "imu=/nowhere/x.csv", "-o", folder / "x", code=3)

    def test_no_times(self):
        text = run("convert", DATA.parent / "photos", "--align", f"imu={DATA}/clip.csv", "--limit", 3, "-o",
                   new_folder() / "x", code=3)
        self.assertIn("it has no times for --align", text)
