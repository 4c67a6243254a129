#!/bin/sh
# demo.sh - from a fresh clone to a picture: installs what is missing, builds, renders
# the structure 2ERL to demo/2erl.bin (float32 photons), demo/2erl_00001.img (SMV with
# noise) and demo/2erl.png. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

BUILD_TARGET=nanobrag_program sh scripts/build.sh
mkdir -p demo
model="-pdb examples/data/2erl.pdb"
build/release/bin/nanobrag -version | grep -q gemmi \
    || model="-hkl examples/data/2erl_p1.hkl -cell 53.91 23.10 23.10 90 110.4 90"
set -x
# shellcheck disable=SC2086
build/release/bin/nanobrag -quiet $model -misset 25 40 10 -lambda 1 \
    -distance 80 -detpixels 1024 -pixel 0.1 -Na 8 -Nb 18 -Nc 18 -gauss_xtal \
    -mosaic 0.3 -osc 2 -oversample 2 \
    -fluence 1e28 -water 0.08 -psf gauss -psf_fwhm 0.15 -seed 1 \
    -floatfile demo/2erl.bin -noisefile demo/2erl_00001.img -pngfile demo/2erl.png
{ set +x; } 2> /dev/null
ls -l demo
echo "demo: done; look at demo/2erl.png. The program is build/release/bin/nanobrag;" \
    "'cmake --build build/release && cmake --install build/release' builds the library too" \
    "and puts both where others find them"
