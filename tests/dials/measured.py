"""measured.py - what the tests of this directory share: checks that print what was measured
and what is allowed, and runs of the program.

SPDX-License-Identifier: MIT
"""
import json
import subprocess

import numpy as np

_failures = 0


def check(good, text):
    global _failures
    _failures += not good
    print("%s %s" % ("ok    " if good else "not ok", text))


def failures():
    """print the number of failed checks; the exit status"""
    print("%d failed" % _failures)
    return 1 if _failures else 0


class Worst:
    """the largest deviation of a quantity over many cases, and where it was met"""

    def __init__(self, name, allowed, unit=""):
        self.name, self.allowed, self.unit = name, allowed, unit
        self.off, self.where, self.count = 0.0, "", 0

    def see(self, where, measured, expected):
        off = float(np.max(np.abs(np.subtract(measured, expected))))
        self.count += 1
        if not off <= self.off:
            self.off, self.where = off, where

    def report(self):
        check(self.count > 0 and self.off <= self.allowed,
              "%s: %d compared, off by at most %.2g%s (%s), allowed %g"
              % (self.name, self.count, self.off, self.unit, self.where or "exact",
                 self.allowed))


def run(program, *options):
    done = subprocess.run([program, *options, "-quiet"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit("not ok %s: %s" % (" ".join(done.args), done.stderr))


def described(program, name, *options):
    """what the run says of itself in the file of -json"""
    run(program, *options, "-json", name)
    with open(name) as file:
        return json.load(file)
