#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""starts.py PROGRAM - start values of fits by the sizes of spots, against known truth.

Simulates stills of 200 mosaic domains with noise, writes boxes around their peaks as a .refl, and
fits each without -N and -mosaic. Prints truth, start and end. Runs in an empty folder; needs numpy.
"""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HKL = ["-hkl", str(ROOT / "examples/data/2erl_p1.hkl"), "-gauss_xtal"]
SIDE = 1000
CRYSTAL = "-cell 53.91 23.10 23.10 90 110.4 90 -lambda 1.2 -distance 120 -pixel 0.1"
FIT = "-expt s.expt -data s.img -refl s.refl -planes -fit misset,scale,mosaic,ncells,cell"
# N along a, b, c; mosaic spread; fluence
STILLS = [((6, 14, 14), 0.5, 2e27), ((10, 24, 24), 0.5, 5e26), ((20, 46, 46), 0.3, 1e26),
          ((20, 46, 46), 0.05, 2e25), ((15, 35, 35), 0.8, 2e26), ((8, 40, 20), 0.3, 5e26),
          ((20, 46, 46), 0.15, 1e26), ((30, 70, 70), 0.5, 1e26)]  # fmt: skip


def peaks(image, most=60, edge=15):
    """Boxes of 9 x 9 pixels around the brightest peaks, one to each square of 2 edge + 1."""
    boxes = []
    while len(boxes) < most:
        s, f = divmod(int(image.argmax()), SIDE)
        if image[s, f] < 20:
            break
        if edge < s < SIDE - edge and edge < f < SIDE - edge:
            boxes.append(f"0 {f - 4} {f + 5} {s - 4} {s + 5}\n")
        image[max(0, s - edge) : s + edge + 1, max(0, f - edge) : f + edge + 1] = -1
    return boxes


def simulate(program, n, mosaic, fluence, seed):
    """Writes s.img, s.expt without a mosaicity, and s.refl; returns the number of boxes."""
    random.seed(seed)
    misset = [str(random.uniform(0, 360)) for _ in range(3)]
    still = [program, *HKL, *CRYSTAL.split(),
             "-detpixels", str(SIDE), "-oversample", "2", "-fluence", str(fluence), "-misset", *misset,
             "-Na", str(n[0]), "-Nb", str(n[1]), "-Nc", str(n[2]), "-mosaic", str(mosaic),
             "-mosaic_domains", "200", "-mosaic_seed", str(1000 + seed), "-quiet"]  # fmt: skip
    subprocess.run([*still, "-floatfile", "peaks.bin"], check=True)
    water = str(2e26 / fluence)
    subprocess.run([*still, "-water", water, "-seed", str(seed), "-noisefile", "s.img", "-truth", "s.expt"], check=True)
    boxes = peaks(np.fromfile("peaks.bin", np.float32).reshape(SIDE, SIDE))
    Path("rows.txt").write_text("".join(boxes))
    subprocess.run([sys.executable, str(ROOT / "tests/cli/refl.py"), "rows.txt", "s.refl"], check=True)
    experiment = json.loads(Path("s.expt").read_text())
    for crystal in experiment["crystal"]:
        for key in [key for key in crystal if "osaic" in key]:
            del crystal[key]
    Path("s.expt").write_text(json.dumps(experiment))
    return len(boxes)


def main(program):
    fit = [program, *HKL, *FIT.split()]
    print("boxes | N, mosaic: truth | start | end")
    for seed, (n, mosaic, fluence) in enumerate(STILLS, 1):
        boxes = simulate(program, n, mosaic, fluence, seed)
        out = subprocess.run(fit, capture_output=True, text=True, check=False).stdout
        found = re.findall(r"^  (?:mosaic|ncells_.) +(\S+) .*from ([0-9.]+)", out, re.M)
        end, start = zip(*found[1:], found[0], strict=True)
        print(boxes, "|", *n, mosaic, "|", *start, "|", *end)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
