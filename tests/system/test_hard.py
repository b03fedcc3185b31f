# SPDX-License-Identifier: BSD-2-Clause
"""The program in hard places: killed, interrupted, without room, memory or files."""
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHOTOS = ROOT / "data/photos"
PROGRAM = os.environ["TUNDISH"]
OPS = ["--ops", "random_resized_crop:64 hflip normalize:imagenet", "--batch", "8"]
FOLDERS = tempfile.TemporaryDirectory(prefix="tundish-hard-")


def run(*arguments, **more):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False,
                          timeout=120, **more)


def new_folder():
    return pathlib.Path(tempfile.mkdtemp(dir=FOLDERS.name))


def content(folder):
    """Every file below a folder with its hash."""
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*")) if file.is_file()}


def convert(out):
    return ["convert", many_photos(), "-o", out / "p", "--shards", "8"]


def many_photos():
    """The sample photographs many times over, so that there is time to hit a conversion."""
    folder = pathlib.Path(FOLDERS.name) / "many"
    if not folder.exists():
        for copy in range(40):
            shutil.copytree(PHOTOS, folder, dirs_exist_ok=True, copy_function=lambda source, target: shutil.copy(
                source, f"{os.path.splitext(target)[0]}-{copy}{os.path.splitext(target)[1]}"))
    return folder


class Hard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.set = new_folder()
        start = time.perf_counter()
        done = run(*convert(cls.set))
        cls.seconds = time.perf_counter() - start
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        cls.content = content(cls.set)
        cls.few = new_folder()
        run("convert", PHOTOS, "-o", cls.few / "p", "--shards", 3)
        cls.few_content = content(cls.few)

    def check_feed(self, *options, **more):
        """The batches are those of a run without these options."""
        self.assertEqual(self.feed_digest(*options, **more), self.feed_digest())

    def feed_digest(self, *options, **more):
        done = run("feed", self.few, *OPS, "--shuffle", "full", "--epochs", 2, "--to", "hash", *options, **more)
        self.check_fine(done)
        return re.search(rb"[0-9a-f]{64}", done.stdout).group()

    def peak_mib(self, *command):
        """Peak RSS of a run that is fine."""
        process = subprocess.Popen([PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss / 1024

    def check_fine(self, done):
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_killed_conversion(self):
        """kill -9 at any moment: a finished set or none, and the same command then succeeds."""
        for step in range(16):
            out = new_folder()
            process = subprocess.Popen([PROGRAM, *map(str, convert(out))], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(self.seconds * (step + 0.5) / 14)
            process.kill()
            code = process.wait()
            finished = (out / "tundish.json").exists()
            if code == -signal.SIGKILL and not finished:
                for name, digest in content(out).items():
                    if not name.startswith(".") and "/." not in name:
                        self.assertEqual(digest, self.content[name], name)  # whole
                self.check_fine(run(*convert(out)))
            elif code == -signal.SIGKILL:
                run(*convert(out))  # refused; a journal beside the whole set goes
            self.assertEqual(content(out), self.content)

    def test_interrupted(self):
        """SIGINT and SIGTERM: nothing is left behind, or all was done already; death by that signal."""
        for number in (signal.SIGINT, signal.SIGTERM):
            out = new_folder()
            process = subprocess.Popen([PROGRAM, *map(str, convert(out))], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(self.seconds / 3)
            process.send_signal(number)
            code = process.wait(timeout=30)
            if code == 0:
                continue
            self.assertEqual(code, -number)
            self.assertIn(content(out), ({}, self.content))

    def test_few_open_files(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
        out = new_folder()
        self.check_fine(run("convert", PHOTOS, "-o", out / "p", "--shards", 3, preexec_fn=limit))
        self.assertEqual(content(out), self.few_content)
        self.check_feed(preexec_fn=limit)
        out = new_folder()
        self.check_fine(run("convert", PHOTOS, "-o", out / "p", "--shards", 46, preexec_fn=limit))
        for command in ("count", "inspect"):
            self.check_fine(run(command, out, preexec_fn=limit))
        self.check_fine(run("shard", out, "-o", new_folder() / "q", "--shards", 40, preexec_fn=limit))

    def test_threads_and_memory(self):
        """Any number of threads and any budget: the same bytes."""
        for options in (["-j", 1], ["-j", 2], ["-j", 3], ["-j", 8], ["-j", 99], ["--memory", "1M"],
                        ["--memory", "1M", "-j", 99]):
            with self.subTest(options):
                out = new_folder()
                self.check_fine(run("convert", PHOTOS, "-o", out / "p", "--shards", 3, *options))
                self.assertEqual(content(out), self.few_content)
                self.check_feed(*options)
                again = new_folder()
                self.check_fine(run("shard", self.few, "-o", again / "q", "--shards", 2, "--shuffle", *options))
                total = int(run("count", again, *options).stdout)
                self.assertEqual(total, 46)

    def test_reshard_is_the_same_for_any_threads(self):
        contents = []
        for threads in (1, 2, 3, 8, 99):
            out = new_folder()
            self.check_fine(run("shard", self.few, "-o", out / "q", "--shards", 4, "--shuffle", "-j", threads))
            contents.append(content(out))
        for other in contents[1:]:
            self.assertEqual(other, contents[0])

    def test_no_room(self):
        """A full file system: exit 3 with the system's word, nothing under a final name."""
        small = new_folder()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], capture_output=True,
                          check=False).returncode:
            self.skipTest("cannot mount a tmpfs here")
        try:
            for command in (["convert", PHOTOS], ["shard", self.few]):
                done = run(*command, "-o", small / "p", "--shards", 2)
                self.assertEqual(done.returncode, 3, done.stderr.decode())
                self.assertIn(b"space", done.stderr)
                self.assertEqual(content(small), {})
        finally:
            subprocess.run(["umount", small], check=True)

    def test_full_standard_output(self):
        for command in (["count", self.few], ["count", "--json", self.few], ["inspect", self.few],
                        ["feed", self.few, *OPS], ["feed", self.few, *OPS, "--to", "hash"],
                        ["convert", PHOTOS, "-o", "-"], ["--help"], ["--version"],
                        ["bench", self.few, *OPS, "--json"]):
            with self.subTest(command), open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *map(str, command)], stdout=full, stderr=subprocess.PIPE,
                                      check=False, timeout=120)
                self.assertEqual(done.returncode, 3, done.stderr.decode())
                self.assertIn(b"space", done.stderr)

    def test_memory_stays_in_its_budget(self):
        """Peak RSS within budget + 32 MiB."""
        for command in (["convert", many_photos(), "-o", new_folder() / "p"],
                        ["feed", self.set, *OPS, "--to", "null"], ["count", "--verify", self.set],
                        ["shard", self.set, "-o", new_folder() / "q"], ["inspect", self.set]):
            with self.subTest(command[0]):
                self.assertLessEqual(self.peak_mib(*command, "--memory", "64M", "-j", "8"), 64 + 32)

    def test_count_takes_little_memory(self):
        """Peak RSS under 64 MiB and the largest record, for any number of files and threads."""
        packed = new_folder()
        self.check_fine(run("shard", self.set, "-o", packed / "q", "--shards", 8, "--compress", "gzip"))
        plain, gzip = (8 * sorted(out.glob("*.tfrecord-*")) for out in (self.set, packed))
        for command in (["count", *plain], ["count", "--verify", *plain], ["count", "--verify", *gzip]):
            for options in ([], ["-j", "99"]):
                with self.subTest((*command[:-64], *options)):
                    self.assertLess(self.peak_mib(*command, *options), 64)

    def test_one_writer_wins(self):
        """A finished set is not touched by a second run; --overwrite replaces it."""
        out = new_folder()
        self.check_fine(run("convert", PHOTOS, "-o", out / "p", "--shards", 3))
        done = run("convert", PHOTOS, "-o", out / "p", "--shards", 4)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(content(out), self.few_content)
        self.check_fine(run("convert", PHOTOS, "-o", out / "p", "--shards", 4, "--overwrite"))
        self.assertEqual(len(list(out.glob("p-train.tfrecord-*"))), 4)
        self.assertTrue(json.loads((out / "tundish.json").read_text()))


def tearDownModule():
    FOLDERS.cleanup()
