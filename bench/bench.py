#!/usr/bin/env python3
"""bench.py - how fast nanobrag is on this machine: asks nanobrag_bench for times, runs the
program, prints tables, and writes JSON and a plot (docs/development/benchmarks.md).

SPDX-License-Identifier: MIT
"""
import array
import json
import math
import os
import sys

sys.dont_write_bytecode = True  # nothing beside the sources

import asked  # noqa: E402
import sections  # noqa: E402
from asked import PRECISIONS, Failed, seconds_text  # noqa: E402

HELP = """usage: python3 bench/bench.py [OPTION]...
How fast nanobrag is on this machine, beside what the machine can do.
  -cases A,B      of A to I, also as AB or a,b (default: all)
  -ladder         also time against pixels, domains, sources, cells and threads,
                  10^6 to 10^9 evaluations
  -long           the ladder to 10^10 evaluations, and no part of an image for a whole
  -peer PATH      also another program with nanoBragg's command line, in turn with ours
  -program PATH   ours (default: nanobrag beside nanobrag_bench)
  -bench PATH     the timed loops (default: build/bin/nanobrag_bench)
  -threads N      of the library and of the programs (default: 1)
  -repeat N       runs of which a median is taken (default: 5)
  -json FILE      everything that was found
  -plot FILE      the ladder, by matplotlib; implies -ladder
  -quick          small sizes, cases A,B,C,E: seconds, for tests
  -fits           only what a pass of a fit costs
  -continuous     only crystals in closed form, beside domains
  -panels         only detectors of many panels, beside one rectangle
  -floor          only a test: are the loops vectorised? Exit status 0 yes, 1 no,
                  77 cannot be told here
  -help           this text; --x is -x
Exit status: 0 done, 1 a program could not be run or a file not written, 2 wrong usage.
"""
FLAGS = ("ladder", "long", "quick", "fits", "continuous", "panels", "floor", "help")
TEXTS = {"cases": "", "peer": "", "json": "", "plot": "", "program": "", "threads": "1",
         "repeat": "5", "bench": "build/bin/nanobrag_bench"}

# evaluations of nanoBragg.c, built with gcc -O3 -march=native -fopenmp, for each sin() of
# libm on the same core in the same minute, whole process
NANOBRAGG = {"A": 0.068, "B": 0.092, "C": 0.26, "D": 0.085, "E": 0.095, "G": 0.15}
# wanted: times nanoBragg.c in double and float by lanes, by spots, seconds by spots
LANES_TIMES = {"A": (25, 45), "B": (30, 75), "C": (25, 0), "D": (30, 75), "E": (25, 45)}
SPOTS_TIMES = {"C": 300}
SPOTS_SECONDS = {"G": 0.060}
# by spots without nanoBragg's profile, which these cases are for alone
OWN_SECONDS = {"H": (0.4, 0.28), "I": (0.8, 0.55)}
RESIDENT_WANTED = 1e9  # byte
TILE_SLOW = 8  # rows of a tile: an image is cut along tiles


def refuse(text):
    sys.stderr.write(f"bench.py: {text}; -help lists the options\n")
    sys.exit(2)


def read_options(words):
    """Returns what was asked for, or ends with status 2."""
    o = dict(TEXTS, **dict.fromkeys(FLAGS, False))
    words = iter(words)
    for word in words:
        name = word[1:] if word[1:2] == "-" else word
        if name[:1] == "-" and name[1:] in FLAGS:
            o[name[1:]] = True
        elif name[:1] == "-" and name[1:] in TEXTS:
            o[name[1:]] = next(words, None)
            if o[name[1:]] is None:
                refuse(f"{name} expects a value")
        else:
            refuse(f"unknown option {word}")
    for name in ("threads", "repeat"):
        if not o[name].isdigit() or not 1 <= int(o[name]) <= 1024:
            refuse(f"-{name} expects 1 to 1024")
        o[name] = int(o[name])
    letters = o["cases"].upper() or ("ABCE" if o["quick"] else "ABCDEFGHI")
    if "," in letters:
        letters = letters.split(",")
    if any(len(x) != 1 or x not in "ABCDEFGHI" for x in letters):
        refuse(f"-cases expects letters of A to I, not {o['cases']}")
    o["cases"] = "".join(letters)
    o["program"] = o["program"] or os.path.join(os.path.dirname(o["bench"]), "nanobrag")
    for name in ("program", "peer", "bench"):
        if "/" in o[name]:
            o[name] = os.path.abspath(o[name])
            if not o["help"] and not os.path.exists(o[name]):
                refuse(f"-{name}: no such program: {o[name]}")
    for name in ("json", "plot"):
        folder = os.path.dirname(o[name]) or "."
        if o[name] and (os.path.isdir(o[name]) or not os.access(folder, os.W_OK)):
            refuse(f"-{name}: cannot write {o[name]}")
    if o["plot"]:
        o["ladder"] = True
        try:
            import matplotlib  # noqa: F401, told before minutes have passed
        except ImportError:
            refuse("-plot needs matplotlib")
    return o


# ---- the cases, in the library and as whole processes ----


def cut(case, strategy, evaluations, most):
    """The case with fewer rows, so that it has at most `most` evaluations or one row of
    tiles, and what part of it that is. Lanes cost the same everywhere in an image."""
    nslow = int(case["side"])
    rows = max(int(nslow * most / evaluations) // TILE_SLOW * TILE_SLOW, TILE_SLOW)
    if rows >= nslow or strategy == "spots":
        return {}, 1
    return {"nslow": rows}, rows / nslow


def operations(case, precision, strategy):
    """Multiplications and multiply-adds of one evaluation, counted in the machine code by
    operations.sh: the place in reciprocal space and F there, then the lattice factor.
    Additions, roundings, divisions and loads are left out, so the roof is a bound."""
    if strategy != "lanes":
        return 0
    site = {"nearest": 11, "tricubic": 72}.get(case.get("list"), 9)
    factor = (31, 26) if case.get("shape") == "gauss" else (62, 44)
    return site + factor[PRECISIONS.index(precision)]


def time_library(bench, row, isa, most):
    less, part = cut(row["words"], row["strategy"], row["evaluations"], most)
    words = dict(row["request"], calls="image", **less)
    if isa:
        words["isa"] = isa
    answer = bench.ask([words], 0.02 if bench.quick else 2)[0]
    return answer, part, answer["image"] / part


def time_program(bench, row, compat):
    times = []
    command = asked.command(row["words"], row["precision"], row["strategy"])
    while len(times) < min(bench.repeat, 16):
        ran = bench.run_program(bench.program, command, row["words"], compat)
        times.append(ran["seconds"])
        if times[-1] > (0.02 if bench.quick else 3):
            break
    return asked.median(times)


def measure_case(bench, row):
    most, scalar = (5e5, 1e5) if bench.quick else (3e8, 5e6)
    machine = row["machine"] = bench.measure_machine()
    if bench.long:
        most = row["evaluations"]
    _, _, row["scalar_seconds"] = time_library(bench, row, "scalar", scalar)
    answer, row["part_computed"], seconds = time_library(bench, row, None, most)
    row["library_seconds"] = seconds
    for key in ("kernel", "tiles", "tiles_small", "tiles_double"):
        row[key] = answer[key]
    precision, strategy, letter = row["precision"], row["strategy"], row["case"]
    core = seconds * bench.threads
    row["mevals_per_second"] = 1e-6 * row["evaluations"] / seconds
    row["cycles_per_evaluation"] = core * machine["hertz"] / row["evaluations"]
    row["times_scalar"] = row["scalar_seconds"] / seconds
    roof = operations(row["words"], precision, strategy) * row["evaluations"]
    row["fraction_of_roof"] = roof / machine[precision] / core
    compat = row["profile"] == "nanobragg"
    if row["part_computed"] == 1 or bench.quick:
        row["program_seconds"] = time_program(bench, row, compat)
    for what in ("library", "program"):
        if what + "_seconds" in row:
            per = row["evaluations"] / row[what + "_seconds"] / bench.threads
            row[what + "_evaluations_per_sine"] = per / machine["sines"]
            if letter in NANOBRAGG:
                row[what + "_times_nanobragg"] = per / machine["sines"] / NANOBRAGG[letter]
    at = PRECISIONS.index(precision)
    if strategy == "lanes" and compat:
        row["target_times_nanobragg"] = LANES_TIMES.get(letter, (0, 0))[at]
    elif strategy == "spots" and compat:
        row["target_times_nanobragg"] = SPOTS_TIMES.get(letter, 0)
        row["target_seconds"] = SPOTS_SECONDS.get(letter, 0)
    elif strategy == "spots":
        row["target_seconds"] = OWN_SECONDS.get(letter, (0, 0))[at]


def print_case(row):
    number = asked.number
    head = (f"{row['case']} {'compat' if row['profile'] == 'nanobragg' else 'default':7s} "
            f"{row['precision']:6s} {row['strategy']:5s}{'*' if row['auto'] else ' '}"
            f"{'~' if row.get('part_computed', 1) < 1 else ' '}|")
    if "library_seconds" not in row:
        print(head, "not run:", row["not_run"][:64])
        return
    target = number(6, 2, row.get("target_times_nanobragg", 0) * NANOBRAGG.get(row["case"], 0))
    if row.get("target_seconds"):
        target = f"{seconds_text(row['target_seconds']):>6s}"
    print(head, f"{seconds_text(row['library_seconds']):>8s}",
          number(7, 0, row["mevals_per_second"]),
          number(6, 2, row["cycles_per_evaluation"]), number(6, 1, row["times_scalar"]),
          number(3, 0, 100 * row["fraction_of_roof"]) + ("%" if row["fraction_of_roof"] else " "),
          number(6, 1, row.get("library_times_nanobragg", 0)), "|",
          f"{seconds_text(row.get('program_seconds', 0)):>8s}",
          number(6, 2, row.get("program_evaluations_per_sine", 0)), target,
          number(5, 1, row.get("program_times_nanobragg", 0)))
    if "not_run" in row:
        print(f"  ({row['not_run'][:90]})")


def run_cases(bench):
    print("\n                       |            library, image after image            |"
          "   program, whole process\n"
          "case                   |     time Meval/s cycles scalar roof   x nB |"
          "     time  / sin target  x nB")
    for letter in bench.letters:
        words = bench.cases[letter]
        # the profiles differ in the width of gaussian spots
        profiles = ["nanobragg"] if letter not in OWN_SECONDS else []
        profiles += ["nanobrag"] if words.get("shape") == "gauss" else []
        for profile in profiles:
            for precision in PRECISIONS:
                first = {"case": letter, "profile": profile, "precision": precision}
                about = bench.ask([dict(case=letter, profile=profile, precision=precision)], 1)
                for strategy in ("lanes", "spots")[:1 + (words.get("shape") == "gauss")]:
                    row = dict(first, strategy=strategy, words=words, what=bench.what[letter],
                               evaluations=about[0]["evaluations"],
                               auto=strategy == about[0]["strategy"])
                    row["request"] = dict(first, strategy=strategy, threads=bench.threads)
                    try:
                        measure_case(bench, row)
                    except Failed as why:
                        row["not_run"] = str(why)
                    print_case(row)
                    del row["words"], row["request"]
                    bench.found["cases"].append(row)
    m = bench.machine
    print(f"* what auto takes   ~ a part of the image, scaled up\n"
          f"cycles  of a core of {1e-9 * m['hertz']:.2f} GHz, for an evaluation\n"
          f"scalar  times as fast as the same loops not vectorised\n"
          f"roof    share of the peak: {m['double'] / m['hertz']:.1f} (double) or "
          f"{m['float'] / m['hertz']:.1f} (float) multiply-adds a cycle with {m['isa']}\n"
          f"/ sin   evaluations for each libm sin(), {1e-6 * m['sines']:.1f} million a second; "
          f"target: to be reached\n"
          f"x nB    times nanoBragg.c's evaluations for each sin(), whole process")


# ---- memory, and another program ----


def run_memory(bench):
    print("\nlargest resident size of the program")
    small = {"profile": "nanobragg", "case": "I", "side": 64, "ndomains": 1, "nsource": 1}
    case = dict(bench.cases["I"], side=1024 if bench.quick else 4096,
                ndomains=100 if bench.quick else 1000, nsource=10 if bench.quick else 100)
    rows = [("auto", {})] if bench.ask([small], 1)[0]["strategy"] == "spots" else []
    at = case["side"] // 2
    rows.append(("lanes", {"roi": f"{at},{at + 1},{at},{at + 1}"}))
    for strategy, more in rows:
        what = (f"{1e-6 * case['side'] ** 2:.1f} Mpixel, {case['ndomains']} domains x "
                f"{case['nsource']} sources{', one tile' if more else ''}")
        row = {"what": what, "strategy": strategy}
        words = dict(case, **more)
        try:
            command = asked.command(words, "double", strategy)
            row.update(bench.run_program(bench.program, command, words, True))
            del row["image"]
            reached = row["resident_bytes"] < RESIDENT_WANTED
            print(f"{what:48s} {strategy:6s} {seconds_text(row['seconds']):>9s} "
                  f"{1e-6 * row['resident_bytes']:6.0f} MB, wanted "
                  f"{1e-6 * RESIDENT_WANTED:.0f}: {'reached' if reached else 'NOT REACHED'}")
        except Failed as why:
            row["not_run"] = str(why)
            print(f"{what:48s} {strategy:6s} not run: {str(why)[:40]}")
        bench.found["memory"].append(row)


def decorrelation(a, b):
    """1 - correlation of two images, as half the squared distance of their unit vectors,
    which does not cancel."""
    n = len(a)
    a0, b0 = math.fsum(a) / n, math.fsum(b) / n
    aa = math.sqrt(math.fsum((x - a0) ** 2 for x in a))
    bb = math.sqrt(math.fsum((x - b0) ** 2 for x in b))
    return math.fsum(((x - a0) / aa - (y - b0) / bb) ** 2 for x, y in zip(a, b)) / 2


def compare_images(row, theirs, ours):
    worst = max(abs(x - y) if x == x and y == y else math.inf for x, y in zip(theirs, ours))
    row["largest_difference_over_peak"] = worst / max(theirs)
    bits = array.array("I", theirs.tobytes()), array.array("I", ours.tobytes())
    row["pixels_that_differ"] = sum(x != y for x, y in zip(*bits))
    row["pixels"] = len(ours)
    row["one_minus_correlation"] = decorrelation(theirs, ours)


def run_peer_case(bench, letter, runners):
    """Runs all in turn: their seconds and images; a case that took a minute is not
    repeated."""
    words, spent = bench.cases[letter], 0
    times, images = {who: [] for who, _ in runners}, {}
    while len(times["peer"]) < bench.repeat and spent < 60:
        for who, program in runners:
            command = asked.command(words, "double" if who == "peer" else who, "auto")
            ran = bench.run_program(program, command, words, True)
            images[who] = ran["image"]
            times[who].append(ran["seconds"])
            spent += ran["seconds"]
    return times, images


def run_peers(bench):
    print(f"\npeer: {bench.peer}\ncase precision |     peer     ours   n    ratio   target | "
          "worst/peak float32 that differ  1 - corr")
    runners = [("peer", bench.peer)] + [(p, bench.program) for p in PRECISIONS]
    for letter in bench.letters:
        said = ""
        try:
            times, images = run_peer_case(bench, letter, runners)
        except Failed as why:
            said = str(why)
        for at, precision in enumerate(PRECISIONS):
            row = {"case": letter, "precision": precision}
            bench.found["peer"].append(row)
            if said:
                row["not_run"] = said
                print(f"{letter}    {precision:9s} | not run: {said[:70]}")
                continue
            compare_images(row, images["peer"], images[precision])
            row["runs"] = len(times["peer"])
            row["peer_seconds"] = asked.median(times["peer"])
            row["seconds"] = asked.median(times[precision])
            row["ratio"] = row["peer_seconds"] / row["seconds"]
            wanted = SPOTS_TIMES.get(letter) or LANES_TIMES.get(letter, (0, 0))[at]
            target = f"x{wanted}" if wanted else "-"
            if letter in SPOTS_SECONDS:
                target = seconds_text(SPOTS_SECONDS[letter])
            print(f"{letter}    {precision:9s} | {seconds_text(row['peer_seconds']):>8s} "
                  f"{seconds_text(row['seconds']):>8s} {row['runs']:3d} {row['ratio']:8.1f} "
                  f"{target:>8s} | {row['largest_difference_over_peak']:10.1e} "
                  f"{row['pixels_that_differ']:8d} of {row['pixels']:<8d} "
                  f"{row['one_minus_correlation']:8.1e}")


# ---- all of it ----


def print_head(bench):
    m = bench.machine
    print(f"nanobrag {m['version']} ({m['features']})\n"
          f"core: {1e-9 * m['hertz']:.2f} GHz, {m['isa']}; {m['double'] / m['hertz']:.1f} "
          f"double, {m['float'] / m['hertz']:.1f} float multiply-adds a cycle; "
          f"{1e-6 * m['sines']:.1f} million sin() a second\n"
          f"threads {bench.threads} ({'CPU' if bench.threads == 1 else 'wall'} time), cores that "
          f"this process may use {m['cores']}, medians of {bench.repeat}, load "
          f"{os.getloadavg()[0]:.1f}"
          + ("\nothers are at work: times mean little" if bench.is_busy() else ""))


def run_all(bench, o):
    bench.machine = bench.found["machine"] = bench.measure_machine()
    print_head(bench)
    only = [section for name, section in (("continuous", sections.run_continuous),
                                          ("fits", sections.run_fits),
                                          ("panels", sections.run_panels)) if o[name]]
    for section in only or [run_memory, run_cases] + [run_peers] * bool(o["peer"]) + [
            sections.run_shots, sections.run_gradients, sections.run_fits,
            sections.run_continuous] + [sections.run_ladder] * o["ladder"]:
        section(bench)
        sys.stdout.flush()


def main():
    o = read_options(sys.argv[1:])
    if o["help"]:
        print(HELP, end="")
        return 0
    with asked.Bench(o) as bench:
        if o["floor"]:
            return sections.run_floor(bench)
        run_all(bench, o)
        if o["json"]:
            with open(o["json"], "w", encoding="utf-8") as file:
                json.dump(bench.found, file, indent=1)
        if o["plot"]:
            sections.plot(bench, o["plot"])
        if bench.failure:
            sys.stderr.write(f"bench.py: {bench.failure}\n")
        return 1 if bench.failure else 0


if __name__ == "__main__":
    sys.exit(main())
