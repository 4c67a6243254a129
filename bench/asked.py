"""asked.py - what bench.py asks: times of nanobrag_bench, and runs of a program.

SPDX-License-Identifier: MIT
"""
import array
import math
import os
import re
import subprocess
import tempfile
import time

PRECISIONS = ("double", "float")
HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """Something could not be timed; the text says why."""


def median(values):
    values = sorted(values)
    return (values[len(values) // 2] + values[(len(values) - 1) // 2]) / 2


def seconds_text(seconds):
    if seconds <= 0:
        return "-"
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1e3 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def number(width, digits, value):
    """A number in a column, '-' where there is none."""
    if value >= 100:
        digits = min(digits, 1) if value < 1000 else 0
    return f"{value:{width}.{digits}f}" if value > 0 else f"{'-':>{width}s}"


def read_cases():
    """Returns the words of each case of cases.def, and what it is."""
    with open(os.path.join(HERE, "cases.def"), encoding="utf-8") as file:
        text = file.read()
    macros, cases, what = {}, {}, {}

    def expand(words):
        return "".join(string or macros[name]
                       for string, name in re.findall(r'"([^"]*)"|([A-Z]+)', words))

    for define, value, letter, name, words in re.findall(
            r"^#define (\w+) +([^\n]*)$|^CASE\((0|'.'), \"([^\"]*)\",\s+(.*?)\)$", text,
            re.M | re.S):
        if define:
            macros[define] = expand(value)
        else:
            cases[letter.strip("'")] = dict(w.split("=") for w in expand(words).split())
            what[letter.strip("'")] = name
    first = cases.pop("0")
    return {letter: dict(first, **words) for letter, words in cases.items()}, what


def command(words, precision, strategy):
    """The command line of a case, with nanoBragg's options as far as it has them."""
    w = {key: str(value) for key, value in words.items()}
    line = ["-cell", *w["cell"].split(",")]
    if "misset" in w:
        line += ["-misset", *w["misset"].split(",")]
    line += ["-N", w["n"].split(",")[0]]
    line += ["-gauss_xtal"] if w.get("shape") == "gauss" else []
    if "mosaic" in w:
        line += ["-mosaic", w["mosaic"], "-mosaic_dom", w["ndomains"]]
    if "dispersion" in w:
        line += ["-dispersion", f"{100 * float(w['dispersion']):.10g}", "-dispsteps",
                 w["nsource"]]
    if "osc" in w:
        line += ["-phi", w["phi"], "-osc", w["osc"], "-phisteps", w["nphi"]]
    line += ["-oversample", w["oversample"]] if "oversample" in w else []
    if "list" in w:
        line += ["-hkl", "LIST"]
        line += ["-interpolate" if w["list"] == "tricubic" else "-nointerpolate"]
    else:
        line += ["-default_F", w["f"]]
    line += ["-lambda", w["wavelength"], "-distance", w["distance"], "-pixel", w["pixel"],
             "-detpixels", w["side"]]
    if "roi" in w:
        roi = [int(x) for x in w["roi"].split(",")]
        line += ["-roi", *(str(x - i % 2) for i, x in enumerate(roi))]
    line += ["-floatfile", "o.bin", "-nopgm", "-nonoise", "-noprogress"]
    line += ["-precision", precision] if precision != "double" else []
    return line + (["-strategy", strategy] if strategy != "auto" else [])


def write_list(path):
    """Writes the list that make_list() of cases.c makes."""
    with open(path, "w", encoding="ascii") as file:
        for h in range(-35, 36):
            for k in range(-40, 41):
                for l in range(-45, 46):
                    f = 100 * (1 + math.cos(1.3 * h + 2.1 * k + 0.7 * l))
                    file.write(f"{h} {k} {l} {f:.4f}\n")


class Bench:
    """What is asked for, the running nanobrag_bench, and what was found."""

    def __init__(self, options):
        self.program, self.peer = options["program"], options["peer"]
        self.threads, self.repeat = options["threads"], options["repeat"]
        self.quick, self.long = options["quick"], options["long"]
        self.letters = options["cases"]
        self.cases, self.what = read_cases()
        self.failure, self.machine = "", {}
        self.folder = tempfile.TemporaryDirectory(prefix="nanobrag_bench.")
        self.list = ""
        self.found = {name: [] for name in (
            "cases", "peer", "memory", "many_shots", "gradients", "fits", "continuous",
            "panels", "ladder", "thread_scaling")}
        self.found.update(program="bench.py", threads=self.threads, repeat=self.repeat)
        self.loops = subprocess.Popen([options["bench"]], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loops.stdin.close()
        self.loops.wait()
        self.folder.cleanup()

    # ---- the library ----

    def _answers(self, line, n):
        self.loops.stdin.write(line + "\n")
        self.loops.stdin.flush()
        answers = [self.loops.stdout.readline().rstrip("\n") for _ in range(n)]
        for answer in answers:
            if answer.startswith("error=") or not answer:
                self.failure = self.failure or answer[6:] or "nanobrag_bench ended"
                raise Failed(answer[6:] or "nanobrag_bench ended")
        found = []
        for answer in answers:
            answer, _, features = answer.partition(" features=")
            words = dict(word.split("=", 1) for word in answer.split())
            for key, value in words.items():
                if key not in ("strategy", "kernel", "isa", "version", "bits"):
                    words[key] = float(value) if set(value) & set(".e") else int(value)
            found.append(dict(words, features=features) if features else words)
        return found

    def ask(self, requests, budget):
        """Times calls of simulators in turn; returns an answer for each."""
        lines = []
        for request in requests:
            words = dict(request)
            words.setdefault("threads", self.threads)
            words.setdefault("clock", "cpu" if words["threads"] == 1 else "wall")
            first = f"case={words.pop('case')} " if "case" in words else ""
            lines.append(first + " ".join(
                f"{k}={str(v).replace(' ', '+')}" for k, v in words.items()))
        return self._answers(f"{self.repeat} {budget} {' / '.join(lines)}", len(lines))

    def measure_machine(self):
        return self._answers("machine quick" if self.quick else "machine", 1)[0]

    def isa(self):
        """The instruction set of the kernels."""
        return os.environ.get("NANOBRAG_ISA") or self.machine["isa"]

    def is_busy(self):
        """Do other programs want more than half of the cores? Then what takes long may do
        so because of them."""
        return os.getloadavg()[0] - self.threads > 0.5 * (os.cpu_count() or 1)

    def verdict(self, is_reached):
        if is_reached:
            return "reached"
        return "cannot be told at this load" if self.is_busy() else "NOT REACHED"

    # ---- programs ----

    def run_program(self, program, line, words, compat):
        """Runs a program in a fresh folder; returns its seconds, resident bytes and image."""
        if "LIST" in line and not self.list:
            self.list = os.path.join(self.folder.name, "e.hkl")
            write_list(self.list)
        line = [program] + [self.list if word == "LIST" else word for word in line]
        env = dict(os.environ, OMP_NUM_THREADS=str(self.threads),
                   NANOBRAG_THREADS=str(self.threads), NANOBRAG_COMPAT="nanobragg")
        if not compat:
            del env["NANOBRAG_COMPAT"]
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
                start = time.monotonic()
                try:
                    child = subprocess.Popen(line, cwd=folder, env=env, stdout=log,
                                             stderr=subprocess.STDOUT)
                except OSError as why:
                    self._fail(program, f"could not be started: {why.strerror}")
                _, status, used = os.wait4(child.pid, 0)
                wall = time.monotonic() - start
                child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode != 0:
                with open(os.path.join(folder, "log"), encoding="utf-8",
                          errors="replace") as log:
                    said = [text for text in log.read().splitlines() if text]
                self._fail(program, said[-1] if said else
                           f"exit status {child.returncode}, without a word")
            image = array.array("f")
            pixels = int(words["side"]) ** 2
            path = os.path.join(folder, "o.bin")
            if not os.path.exists(path) or os.path.getsize(path) != 4 * pixels:
                self._fail(program, f"wrote no o.bin of {pixels} pixels")
            with open(path, "rb") as file:
                image.fromfile(file, pixels)
        unit = 1 if os.uname().sysname == "Darwin" else 1024
        cpu = used.ru_utime + used.ru_stime
        return {"seconds": cpu if self.threads == 1 else wall, "image": image,
                "resident_bytes": unit * used.ru_maxrss}

    def _fail(self, program, why):
        self.failure = self.failure or f"{program[:70]}: {why[:80]}"
        raise Failed(why)
