#!/bin/sh
# closed_loop.sh FORMAT - 60 noisy images of 2ERL, as img, cbf or nxs, go through DIALS, from dials.import to
# dials.merge; check.py compares what comes out with what was put in. $NANOBRAG is the
# program, $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
format=$1
tests=$NANOBRAG_SOURCE/tests/dials
hkl=$NANOBRAG_SOURCE/examples/data/2erl_p1.hkl
# shellcheck source=tests/dials/need_dials.sh
. "$tests/need_dials.sh"
need_dials dials.import dials.find_spots dials.index dials.refine dials.integrate \
    dials.symmetry dials.scale dials.merge
unset NANOBRAG_COMPAT
"$NANOBRAG" -version | grep -q fftw || skip "this build has no point spread (no FFTW)"
need_json
[ "$format" != nxs ] || "$NANOBRAG" -version | grep -q hdf5 || skip "this build has no HDF5"

rm -rf "sweep_$format"
mkdir "sweep_$format"
cd "sweep_$format"

# timed LOG COMMAND...: the seconds it took; the end of its log where it fails
timed() {
    log=$1
    shift
    began=$(date +%s)
    "$@" > "$log" 2>&1 || {
        tail -n 30 "$log"
        echo "not ok $*"
        exit 1
    }
    echo "       $log $(($(date +%s) - began)) s"
}

timed nanobrag.out "$NANOBRAG" -hkl "$hkl" -cell 53.91 23.10 23.10 90 110.4 90 \
    -misset 12 34 56 -Na 8 -Nb 18 -Nc 18 -gauss_xtal \
    -mosaic 0.1 -mosaic_domains 8 -mosaic_seed 7 \
    -lambda 1 -polar 0.998 -fluence 3e27 -water 0.06 \
    -distance 50 -detpixels 512 -pixel 0.172 -Xbeam 46.3 -Ybeam 41.9 \
    -psf gauss -psf_fwhm 0.3 -osc 0.5 -phisteps 6 -oversample 2 \
    -images 60 -seed 1 -imagefile "erl_00001.$format" -json erl.json -noprogress
if [ "$format" = nxs ]; then
    timed import.out dials.import erl_00001.nxs
else
    timed import.out dials.import template="$PWD/erl_#####.$format"
fi
timed find_spots.out dials.find_spots imported.expt nproc=2
timed index.out dials.index imported.expt strong.refl nproc=2
timed refine.out dials.refine indexed.expt indexed.refl scan_varying=False
timed integrate.out dials.integrate refined.expt refined.refl prediction.d_min=1.5 nproc=2
timed symmetry.out dials.symmetry integrated.expt integrated.refl
timed scale.out dials.scale symmetrized.expt symmetrized.refl d_min=1.5 \
    physical.absorption_correction=False nproc=2
timed merge.out dials.merge scaled.expt scaled.refl
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$tests/check.py" erl.json "$hkl" "$format"
rm -f erl_*."$format"
