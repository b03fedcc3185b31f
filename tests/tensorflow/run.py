# SPDX-License-Identifier: BSD-2-Clause
"""Runs the checks of this folder and ends with `N passed, N failed, N skipped`."""
import sys
import unittest

result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.discover("."))
failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
skipped = len(result.skipped)
sys.stderr.flush()
print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed or not result.testsRun else 0)
