"""cells.py PROGRAM FOLDER - the cell of each frame of L-cysteine against its printed errors, and
structure factors that start equal against the amplitudes of the whole sweeps.

All frames are fitted first, from what dials.index found: crystal, distribution of blocks, detector.
Then each frame alone has its own cell, orientation and scale. Only the standard library is used.
SPDX-License-Identifier: MIT
"""

import json
import math
import struct
import subprocess
import sys

AXES = ("cell_a", "cell_b", "cell_c")
SWEEP = (5.430595, 8.144794, 12.06124)  # of DIALS, for 170 degrees
FAILED = []


def check(good, text):
    print("%s - %s" % ("ok" if good else "not ok", text))
    if not good:
        FAILED.append(text)


def fit(program, name, *options):
    """values and errors of a fit"""
    done = subprocess.run(
        [program, *options, "-gauss_xtal", "-planes", "-fluence", "1e24", "-oversample", "2", "-coarse",
         "off", "-detector_thicksteps", "5", "-fitfile", name + ".json", "-quiet"],
        capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        print("# %s: exit status %d: %s" % (name, done.returncode, done.stderr))
    with open(name + ".json") as file:
        result = json.load(file)
    return result, {v["name"]: (v["value"], v["error"]) for v in result["values"] if not v["held"]}


def amplitudes(path):
    """h k l and F of an MTZ with columns H K L F SIGF"""
    with open(path, "rb") as file:
        data = file.read()
    at = 4 * (struct.unpack_from("<i", data, 4)[0] - 1)
    columns = data[at:].split(b"COLUMN")[1:]
    width = len(columns)
    names = [column.split()[0] for column in columns]
    assert names[:4] == [b"H", b"K", b"L", b"F"], names
    rows = struct.iter_unpack("<%df" % width, data[80 : 80 + (at - 80) // (4 * width) * 4 * width])
    return {tuple(int(x) for x in row[:3]): row[3] for row in rows if math.isfinite(row[3])}


def check_cells(frames):
    for k, axis in enumerate(AXES):
        numbers = [frame[axis] for frame in frames]
        weight = [1 / error**2 for _, error in numbers]
        mean = sum(w * v for w, (v, _) in zip(weight, numbers)) / sum(weight)
        pulls = [(value - mean) / error for value, error in numbers]
        rms = math.sqrt(sum(p * p for p in pulls) / (len(pulls) - 1))
        check(rms < 2, "%s of %d frames: mean %.5f A (sweep %.5f), rms of pulls %.2f, largest %.2f" % (
            axis, len(numbers), mean, SWEEP[k], rms, max(map(abs, pulls))))  # fmt: skip


def correlation(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    xy, xx, yy = (sum((a - ma) * (b - mb) for a, b in zip(p, q))
                  for p, q, ma, mb in ((x, y, mx, my), (x, x, mx, mx), (y, y, my, my)))  # fmt: skip
    return xy / math.sqrt(xx * yy)


def check_amplitudes(found, true):
    pairs = []
    for name, (value, error) in found.items():
        if name.startswith("F[") and error:
            key = tuple(abs(int(word)) for word in name[2:-1].split(","))
            if key in true:
                pairs.append((value, error, true[key]))
    scale = sum(f * t for f, _, t in pairs) / sum(f * f for f, _, _ in pairs)
    for what, some, least, most in (("all", pairs, 0.97, 0.15),
                                    ("with errors below 20 %", [p for p in pairs if p[1] < 0.2 * p[0]], 0.99, 0.08)):  # fmt: skip
        cc = correlation([f * f for f, _, _ in some], [t * t for _, _, t in some])
        r = sum(abs(scale * f - t) for f, _, t in some) / sum(t for _, _, t in some)
        check(len(some) > 10 and cc > least and r < most,
              "%d amplitudes, %s: correlation of F^2 %.3f, R of F %.3f" % (len(some), what, cc, r))  # fmt: skip


def main(program, folder):
    table = ["-refl", folder + "/indexed.refl", "-mtz", folder + "/measured_F.mtz"]
    widths = "mosaic_tensor,mosaic_tail,mosaic_tail_width,ncells,crystal_size,strain"
    _, found = fit(
        program, "all", "-expt", folder + "/indexed.expt", *table, "-Na", "100", "-Nb", "70", "-Nc", "45",
        "-mosaic_tensor", *"0.2 0.08 0.05 0 0 0".split(), "-mosaic_tail", "0.05", "-mosaic_tail_width", "5",
        "-errors", "counting", "-exptout", "all.expt", "-fit_passes", "80", "-fit",
        widths + ",misset,scale,cell,rotation_drift,origin,close_distance,detector_rot")  # fmt: skip
    with open("all.json") as file:
        value = {v["name"]: repr(v["value"]) for v in json.load(file)["values"]}
    shape = ["-mosaic_tensor", *(value["mosaic_" + k] for k in ("a", "b", "c", "ab", "ac", "bc"))]
    for option, name in (("mosaic_tail", "mosaic_tail"), ("mosaic_tail_width", "mosaic_tail_width"),
                         ("crystal_size", "crystal_size"), ("strain", "strain")):  # fmt: skip
        shape += ["-" + option, value[name]]
    for axis in "abc":
        shape += ["-N" + axis, str(round(float(value["ncells_" + axis])))]
    frames = [
        fit(program, "one", "-expt", "all.expt", *table, *shape, "-param", "scale=" + value["scale"], "-data",
            "%s/l-cyst_01_%05d.cbf.gz" % (folder, i), "-fit", "misset,scale,cell", "-errors", "boxes")[1]
        for i in range(1, 16)
    ]  # fmt: skip
    check_cells(frames)
    check_cells(frames[4::5])
    true = amplitudes(folder + "/measured_F.mtz")
    mean = sum(true.values()) / len(true)
    with open("flat.hkl", "w") as file:
        for h, k, l in true:
            for mate in {(a * h, b * k, c * l) for a in (1, -1) for b in (1, -1) for c in (1, -1)}:
                file.write("%d %d %d %.4f\n" % (*mate, mean))
    drift = [value["rotation_drift_" + k] for k in "xyz"]
    _, found = fit(program, "flat", "-expt", "all.expt", "-refl", folder + "/indexed.refl", "-hkl", "flat.hkl",
                   *shape, "-rotation_drift", *drift, "-fit", "F,scale")  # fmt: skip
    check_amplitudes(found, true)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
