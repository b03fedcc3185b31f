# SPDX-License-Identifier: BSD-2-Clause
"""Conversions killed before any call that changes a file, and resumed: the same bytes, for
each kind of source. And 200,000 names in one folder."""
import os
import pathlib
import re
import resource
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest
import zipfile

from test_hard import PHOTOS, PROGRAM, ROOT, content

KILLER = os.environ.get("TUNDISH_KILLER")
MODULES = pathlib.Path(os.environ.get("TUNDISH_MODULES", "/nowhere"))
FOLDERS = tempfile.TemporaryDirectory(prefix="tundish-resume-")


def new_folder():
    return pathlib.Path(tempfile.mkdtemp(dir=FOLDERS.name))


def run(*arguments, **more):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False, timeout=120, **more)


def few_photos():
    return sorted(PHOTOS.glob("*/*"))[::5]


def sources():
    """(name, arguments): small conversions of each kind."""
    folder = new_folder()
    with tarfile.open(folder / "photos.tar", "w") as tar:
        for file in few_photos():
            tar.add(file, file.relative_to(PHOTOS))
    with zipfile.ZipFile(folder / "photos.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in few_photos():
            archive.write(file, file.relative_to(PHOTOS))
    rows = [f"{file.relative_to(PHOTOS)},{i % 3},{i / 2}" for i, file in enumerate(few_photos())]
    (folder / "table.csv").write_text("\n".join(["file,label,weight", *rows]) + "\n")
    cube = ROOT / "tests/golden/formats/envi/t12_bip_le.hdr"
    yield "table", [PHOTOS, "--labels", f"csv:{folder}/table.csv", "--columns", "weight"]
    yield "cube", [cube, "--tile", "2x2", "--edge", "pad"]
    if (MODULES / "archive.so").exists():
        yield "tar", [folder / "photos.tar"]
        yield "zip", [folder / "photos.zip"]
    if (MODULES / "hdf5.so").exists():
        yield "hdf5", [f"{ROOT}/data/hdf5/shapes.h5:/images,label=/labels,columns=/place", "--limit", "12"]
    if (MODULES / "video.so").exists():
        yield "video", [ROOT / "data/video/clip.mp4", "--frames", "every:3"]
        yield "clips", [ROOT / "data/video/clip.mp4", "--clip", "4:4"]


class Resume(unittest.TestCase):
    @unittest.skipUnless(KILLER, "a sanitizer's build preloads nothing")
    def test_killed_at_every_point(self):
        for name, arguments in sources():
            with self.subTest(name):
                want = new_folder()
                done = run("convert", *arguments, "-o", want / "p", "--shards", "3")
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.kill_everywhere(arguments, content(want))

    def kill_everywhere(self, arguments, want):
        resumed = 0
        for at in range(1, 1000):
            out = new_folder()
            command = ["convert", *arguments, "-o", out / "p", "--shards", "3"]
            done = run(*command, env={**os.environ, "LD_PRELOAD": KILLER, "KILL_AT": str(at)})
            if done.returncode == 0:
                self.assertEqual(content(out), want)
                break
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr.decode())
            for file, digest in content(out).items():
                if not file.startswith(".") and "/." not in file:
                    self.assertEqual(digest, want[file], (at, file))  # whole, whatever else is missing
            finished = (out / "tundish.json").exists()
            done = run(*command, "--resume")
            self.assertEqual(done.returncode, 2 if finished else 0, (at, done.stderr.decode()))
            resumed += b"shards were whole" in done.stderr
            self.assertEqual(content(out), want, at)  # no journal beside a whole set either
        self.assertGreater(at, 20)
        self.assertLess(at, 999)
        self.assertGreater(resumed, 5)

    def test_differences_are_named(self):
        """Other options or inputs than those of the run that was broken off: exit 2."""
        folder = new_folder()
        source = folder / "photos.csv"
        rows = [f"{file},{i % 3},{i / 2},{i}" for i, file in enumerate(few_photos())]
        source.write_text("\n".join(["file,label,a,b", *rows]) + "\n")
        command = ["convert", PHOTOS, "--labels", f"csv:{source}", "--shards", "10", "-o", folder / "out/p"]
        most = max(file.stat().st_size for file in few_photos())

        def break_off():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        done = run(*command, preexec_fn=break_off)
        self.assertEqual(done.returncode, 3, done.stderr.decode())
        for more, said in ((["--columns", "a"], 'had columns unset, this one has "a"'),
                           (["--check", "decode"], 'had check "structure", this one has "decode"'),
                           (["--order", "keep"], "had shuffle true, this one has false")):
            done = run(*command, "--resume", *more)
            self.assertEqual(done.returncode, 2, (more, done.stderr.decode()))
            self.assertIn(said, done.stderr.decode())
        text = source.read_text()
        source.write_text(text.replace(",1,0.5,1", ",2,0.5,1"))
        done = run(*command, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the sources are not what they were (a name, size, time or class)", done.stderr.decode())
        source.write_text(text)
        done = run(*command, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_200000_names(self):
        """The first record is there within 5 s, in under 200 MB; an interrupt is heard while listing."""
        folder = new_folder()
        (folder / "in").mkdir()
        picture = few_photos()[0].read_bytes()
        for i in range(200000):
            path = f"{folder}/in/{i}.jpg"
            if i % 60000 == 0:
                first = path
                pathlib.Path(path).write_bytes(picture)
            else:
                os.link(first, path)
        start = time.perf_counter()
        process = subprocess.Popen([PROGRAM, "convert", folder / "in", "-o", "-", "--labels", "none"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        first = process.stdout.read(100)
        took = time.perf_counter() - start
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        process.stdout.close()
        process.wait(timeout=30)
        self.assertEqual(len(first), 100)
        self.assertLess(took, 5 * float(os.environ.get("TUNDISH_SLOW", 1)))
        self.assertLess(int(peak[1]) / 1024, 200 * float(os.environ.get("TUNDISH_SLOW", 1)))
        process = subprocess.Popen([PROGRAM, "convert", folder / "in", "-o", folder / "out/p"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took / 3)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=30), -signal.SIGINT)
        self.assertLess(time.perf_counter() - start, 1 * float(os.environ.get("TUNDISH_SLOW", 1)))
        self.assertEqual(content(folder / "out") if (folder / "out").exists() else {}, {})
