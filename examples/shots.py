#!/usr/bin/env python3
"""Tables for -shots and -spectra: crystals in all orientations, pulses that differ.

    shots.py N SEED shots.txt [spectra.txt]

The orientations are uniform: rotation vectors of random unit quaternions. The fluence of a
pulse has a gamma distribution with the mean 1e23 photons/m^2, and its spectrum is a Gaussian of 20 eV (FWHM) whose centre
moves by 10 eV (standard deviation) about 9500 eV. SPDX-License-Identifier: MIT
"""
import math
import random
import sys


def rotation_vector(draw):
    """In degrees."""
    q = [draw.gauss(0, 1) for _ in range(4)]
    length = math.sqrt(sum(x * x for x in q))
    w, x, y, z = (component / length * math.copysign(1, q[0]) for component in q)
    sine = math.sqrt(x * x + y * y + z * z)
    angle = 2 * math.degrees(math.atan2(sine, w))
    return [angle * component / sine for component in (x, y, z)]


def main():
    n, draw = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    rows = [(rotation_vector(draw), 1e23 * draw.gammavariate(4, 0.25), draw.gauss(9500, 10))
            for _ in range(n)]
    with open(sys.argv[3], "w") as out:
        print("rotation fluence", file=out)
        for rotation, fluence, _ in rows:
            print(*(f"{x:.6f}" for x in rotation), f"{fluence:.6g}", file=out)
    if len(sys.argv) < 5:
        return
    energies = [9460 + 5 * i for i in range(17)]
    with open(sys.argv[4], "w") as out:
        print(*energies, file=out)
        for _, _, centre in rows:
            weights = [math.exp(-((e - centre) / 20) ** 2 * 4 * math.log(2)) for e in energies]
            print(*(f"{w:.6g}" for w in weights), file=out)


main()
