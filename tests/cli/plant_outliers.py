# SPDX-License-Identifier: MIT
"""plant_outliers.py MODEL SIDE BOXES SEED KIND... - draws Poisson noise of a model in floats, and
writes boxes.txt around its brightest pixels, KIND.bin with things that no model has, and
planted.json, which names them. plant_outliers.py check planted.json - compares KIND.json, the
-json of fits, with what was planted and with clean.json."""

import array
import json
import math
import random
import sys

EDGE = 12


def check(planted):
    """Prints how far fits are from that of the clean image, and what of the planted stayed."""
    clean = json.load(open("clean.json"))["fit"]["values"]
    failed = 0
    for kind, things in planted.items():
        fit = json.load(open(f"{kind}.json"))["fit"]
        gone = fit["images"][0]["outliers"]
        boxes = {o["box"] for o in gone}
        pixels = {(o["fast"], o["slow"]) for o in gone if o["box"] < 0}
        stay = [t for t in things if t["box"] not in boxes and (t["fast"], t["slow"]) not in pixels]
        off = max(abs(a["value"] - b["value"]) / b["error"] for a, b in zip(fit["values"], clean))
        bad = off > 3 or stay or (kind != "clean" and not gone)
        print(f"# {kind}: {off:.2f} errors off, 3 allowed; {len(gone)} left; of what was planted {stay} stay")
        failed += bool(bad)
    return failed


if sys.argv[1] == "check":
    sys.exit(check(json.load(open(sys.argv[2]))))
truth, side, nbox, seed, *kinds = sys.argv[1:]
side, nbox = int(side), int(nbox)
planted = {}


def read(path):
    image = array.array("f")
    with open(path, "rb") as file:
        image.frombytes(file.read())
    return image


def poisson(rng, mean):
    if mean > 50:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    n, p, least = -1, 1.0, math.exp(-mean)
    while p > least or n < 0:
        p *= rng.random()
        n += 1
    return n


def pick(image):
    """Boxes around the brightest pixels that do not touch one another."""
    order = sorted(range(side * side), key=lambda i: -image[i])
    taken, boxes = bytearray(side * side), []
    for i in order:
        s, f = divmod(i, side)
        s0, f0 = s - EDGE // 2, f - EDGE // 2
        if min(s0, f0) < 0 or max(s0, f0) + EDGE > side:
            continue
        rows = [slice((s0 + k) * side + f0, (s0 + k) * side + f0 + EDGE) for k in range(EDGE)]
        if any(any(taken[row]) for row in rows):
            continue
        for row in rows:
            taken[row] = b"\1" * EDGE
        boxes.append((f0, s0))
        if len(boxes) == nbox:
            break
    return boxes


model = read(truth)
boxes = pick(model)
with open("boxes.txt", "w") as file:
    for f0, s0 in boxes:
        file.write(f"{f0} {f0 + EDGE - 1} {s0} {s0 + EDGE - 1}\n")
rng = random.Random(seed)
clean = [poisson(rng, photons) for photons in model]
for kind in kinds:
    kind, _, more = kind.partition(":")
    rng = random.Random(f"{seed} {kind}")
    image = array.array("f", clean)
    things = planted.setdefault(kind, [])
    if kind == "ring":
        for i in range(side * side):
            r = math.hypot(i // side - side / 2, i % side - side / 2)
            image[i] += poisson(rng, float(more) * math.exp(-0.5 * ((r - 0.27 * side) / 1.5) ** 2))
    if kind == "lattice":
        for i, photons in enumerate(read(more)):
            image[i] += poisson(rng, photons)
    if kind == "moved":
        for b in sorted(rng.sample(range(len(boxes)), len(boxes) // 10)):
            f0, s0 = boxes[b]
            way = rng.choice([(4, 0), (-4, 0), (0, 4), (0, -4)])
            old = [[image[(s0 + s) * side + f0 + f] for f in range(EDGE)] for s in range(EDGE)]
            for s in range(EDGE):
                for f in range(EDGE):
                    image[(s0 + s) * side + f0 + f] = old[(s - way[0]) % EDGE][(f - way[1]) % EDGE]
            # a box without a spot cannot be seen to move
            if max(max(row) for row in old) > 50:
                things.append({"box": b, "fast": f0, "slow": s0})
    if kind == "zingers":
        for _ in range(len(boxes) // 10):
            f0, s0 = rng.choice(boxes)
            s, f = s0 + rng.randrange(EDGE), f0 + rng.randrange(EDGE)
            image[s * side + f] += rng.randrange(50, 5000)
            things.append({"box": boxes.index((f0, s0)), "fast": f, "slow": s})
    with open(f"{kind}.bin", "wb") as file:
        file.write(image.tobytes())
with open("planted.json", "w") as file:
    json.dump(planted, file)
