#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pulls of fits whose mosaic domains are not those of the data.

    bench/fits/sampling.py build/release/bin/nanobrag 20,100 8 [OPTIONS OF BOTH]

simulates docs/fitting.md's example with 2000 domains and noise, fits it with 20 and with 100 by the
seeds 1 to 8, and prints how far the values are from the truth: rms of all pulls by the errors
printed, and by those without the part of sampling. OPTIONS come last: they replace those here.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

HKL = pathlib.Path(__file__).parents[2] / "examples" / "data" / "2erl_p1.hkl"
BOTH = (
    f"-hkl {HKL} -N 6 -gauss_xtal -lambda 1.2 -fluence 1e28 -distance 120 -detpixels 256 -pixel 0.4 "
    "-oversample 2 -water 0.05 -quiet"
)
DATA = (
    "-cell 53.91 23.10 23.10 90 110.4 90 -mosaic 0.5 -mosaic_domains 2000 -mosaic_seed 777 "
    "-misset 10 20 30 -seed 1 -noisefile data_001.img"
)
FIT = (
    "-cell 54.00 23.10 23.10 90 110.4 90 -mosaic 0.4 -misset 10.1 19.9 30.1 "
    "-fit cell_a,misset,mosaic,scale,water -data data_001.img -json fit.json"
)
TRUTH = {"cell_a": 53.91, "misset_x": 10, "misset_y": 20, "misset_z": 30, "mosaic": 0.5, "scale": 1, "water": 0.05}


def rms(numbers: list[float]) -> float:
    return math.sqrt(sum(number**2 for number in numbers) / len(numbers))


def campaign(run, folder: pathlib.Path, domains: str, seeds: int) -> None:
    off: dict[str, list[tuple[float, float, float]]] = {name: [] for name in TRUTH}
    for seed in range(1, seeds + 1):
        run(f"{FIT} -mosaic_domains {domains} -mosaic_seed {seed}")
        for value in json.loads((folder / "fit.json").read_text())["fit"]["values"]:
            counting = math.sqrt(value["error"] ** 2 - (value["sampling"] or 0) ** 2)
            off[value["name"]].append((value["value"] - TRUTH[value["name"]], value["error"], counting))
    print(f"{domains} domains, {seeds} seeds")
    for name, values in off.items():
        print(
            f"  {name:9} off {rms([o for o, _, _ in values]):.3g} rms, error {rms([e for _, e, _ in values]):.3g}, "
            f"of counting {rms([c for _, _, c in values]):.3g}, pulls {rms([o / e for o, e, _ in values]):.2f}"
        )
    everything = [value for values in off.values() for value in values]
    print(
        f"  all       pulls {rms([o / e for o, e, _ in everything]):.2f} rms, 0.7 to 1.4 wanted; "
        f"by errors of counting {rms([o / c for o, _, c in everything]):.2f}"
    )


def main(program: str, domains: str, seeds: str, *options: str) -> None:
    with tempfile.TemporaryDirectory() as name:

        def run(words: str) -> None:
            arguments = [str(pathlib.Path(program).resolve()), *BOTH.split(), *options, *words.split()]
            subprocess.run(arguments, cwd=name, check=True, stderr=subprocess.DEVNULL)

        run(DATA)
        for number in domains.split(","):
            campaign(run, pathlib.Path(name), number, int(seeds))


if __name__ == "__main__":
    main(*sys.argv[1:])
