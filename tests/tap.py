# SPDX-License-Identifier: BSD-2-Clause
"""usage: tap.py FOLDER [-s]

Runs the Python tests of a folder and says one by one what came out, in TAP; with -s
it ends with `N passed, N failed, N skipped` instead of the plan."""
import pathlib
import sys
import unittest


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = {"passed": 0, "failed": 0, "skipped": 0}

    def say(self, test, state, text=""):
        self.count[state] += 1
        number = sum(self.count.values())
        line = "not ok" if state == "failed" else "ok"
        print(f"{line} {number} - {test.id()}{' # skip ' + text if state == 'skipped' else ''}")
        if state == "failed":
            print("".join(f"# {part}\n" for part in text.splitlines()), end="")
        sys.stdout.flush()

    def addSuccess(self, test):
        self.say(test, "passed")

    def addSkip(self, test, reason):
        self.say(test, "skipped", reason)

    def addFailure(self, test, err):
        self.say(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(subtest, err)


folder = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(folder), str(folder.parent)]
result = TapResult()
unittest.defaultTestLoader.discover(str(folder)).run(result)
if "-s" in sys.argv[2:]:
    print(", ".join(f"{number} {state}" for state, number in result.count.items()))
else:
    print(f"1..{sum(result.count.values())}")
sys.exit(1 if result.count["failed"] or not sum(result.count.values()) else 0)
