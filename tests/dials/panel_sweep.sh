#!/bin/sh
# panel_sweep.sh - a sweep on 2 x 2 tilted panels in NXmx goes through dials.import,
# find_spots, index and refine; panel_sweep.py makes the panels, moves one of them by half a
# pixel in a copy of the file, and judges both. $NANOBRAG is the program, $NANOBRAG_SOURCE
# the source tree. SPDX-License-Identifier: MIT
set -eu
tests=$NANOBRAG_SOURCE/tests/dials
pdb=$NANOBRAG_SOURCE/examples/data/2erl.pdb
# shellcheck source=tests/dials/need_dials.sh
. "$tests/need_dials.sh"
need_dials dials.import dials.find_spots dials.index dials.refine
unset NANOBRAG_COMPAT
"$NANOBRAG" -version | grep -q fftw || skip "this build has no point spread (no FFTW)"
"$NANOBRAG" -version | grep -q gemmi || skip "this build has no -pdb (no gemmi)"
"$NANOBRAG" -version | grep -q hdf5 || skip "this build has no NXmx (no HDF5)"
need_json

rm -rf panel_sweep
mkdir panel_sweep
cd panel_sweep

# logged LOG COMMAND...: the end of its log where it fails
logged() {
    log=$1
    shift
    "$@" > "$log" 2>&1 || {
        tail -n 30 "$log"
        echo "not ok $*"
        exit 1
    }
}

# through_dials NAME: NAME.nxs to NAME.expt and NAME.refl, refined with the panels as the
# file has them
through_dials() {
    logged "$1_import.out" dials.import "$1.nxs" output.experiments="$1_imported.expt"
    logged "$1_spots.out" dials.find_spots "$1_imported.expt" nproc=2 \
        output.reflections="$1_strong.refl"
    logged "$1_index.out" dials.index "$1_imported.expt" "$1_strong.refl" nproc=2 \
        detector.fix=all beam.fix=all output.experiments="$1_indexed.expt" \
        output.reflections="$1_indexed.refl"
    logged "$1_refine.out" dials.refine "$1_indexed.expt" "$1_indexed.refl" \
        scan_varying=False detector.fix=all beam.fix=all output.experiments="$1.expt" \
        output.reflections="$1.refl"
}

# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$tests/panel_sweep.py" make quads.geom
logged nanobrag.out "$NANOBRAG" -geom quads.geom -pdb "$pdb" -misset 12 34 56 \
    -Na 8 -Nb 18 -Nc 18 -gauss_xtal -mosaic 0.1 -mosaic_domains 8 -mosaic_seed 7 \
    -fluence 3e27 -psf gauss -psf_fwhm 0.3 -phisteps 6 -oversample 2 -polar 0.998 -water 0.06 \
    -osc 0.5 -images 40 -seed 1 -imagefile right.nxs -truth truth.expt -noprogress
"$python" "$tests/panel_sweep.py" misplace right.nxs wrong.nxs
through_dials right
through_dials wrong
"$python" "$tests/panel_sweep.py" judge
rm -f right.nxs wrong.nxs
