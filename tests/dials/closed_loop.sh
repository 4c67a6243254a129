#!/bin/sh
# closed_loop.sh FORMAT - noisy images of 2ERL in a format (smv, cbf, nxmx) go through DIALS,
# from dials.import to dials.merge; check.py compares what comes out with what was put in,
# and image.py the image of what DIALS refined with the true one. FORMAT truth: the images
# are SMV and -truth stands for dials.import. $NANOBRAG is the program, $NANOBRAG_SOURCE the
# source tree. SPDX-License-Identifier: MIT
set -eu
format=$1
tests=$NANOBRAG_SOURCE/tests/dials
pdb=$NANOBRAG_SOURCE/examples/data/2erl.pdb
# shellcheck source=tests/dials/need_dials.sh
. "$tests/need_dials.sh"
need_dials dials.import dials.find_spots dials.index dials.refine dials.integrate \
    dials.symmetry dials.scale dials.merge dials.reindex
unset NANOBRAG_COMPAT
"$NANOBRAG" -version | grep -q fftw || skip "this build has no point spread (no FFTW)"
"$NANOBRAG" -version | grep -q gemmi || skip "this build has no -pdb (no gemmi)"
need_json

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

# 60 images: with 40 the correlation of merged intensities falls to 0.991
crystal="-Na 8 -Nb 18 -Nc 18 -gauss_xtal -mosaic 0.1 -mosaic_domains 8 -mosaic_seed 7"
light="-fluence 3e27 -psf gauss -psf_fwhm 0.3 -phisteps 6 -oversample 2"
import="template=$PWD/erl_#####.img"
written="-noisefile erl_00001.img -truth erl_truth.expt"
case $format in
cbf)
    import="template=$PWD/erl_#####.cbf"
    written="-imagefile erl_00001.cbf"
    ;;
nxmx)
    "$NANOBRAG" -version | grep -q hdf5 || skip "this build has no NXmx (no HDF5)"
    import="erl.nxs"
    written="-imagefile erl.nxs"
    ;;
esac

# shellcheck disable=SC2086 # lists of options
timed nanobrag.out "$NANOBRAG" -pdb "$pdb" -misset 12 34 56 $crystal $light \
    -lambda 1 -polar 0.998 -water 0.06 \
    -distance 50 -detpixels 512 -pixel 0.172 -Xbeam 46.3 -Ybeam 41.9 -osc 0.5 \
    -images 60 -seed 1 $written -json erl.json -fmtz put_in.mtz -noprogress
if [ "$format" = truth ]; then
    cp erl_truth.expt imported.expt
else
    timed import.out dials.import "$import"
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
"$python" "$tests/check.py" "$format" || failed=1

# the geometry and the crystal that DIALS refined, in the setting of the model
timed reindex.out dials.reindex scaled.expt change_of_basis_op="$(cat reindex.txt)" \
    output.experiments=ours.expt
# shellcheck disable=SC2086
timed true.out "$NANOBRAG" -expt erl_truth.expt -pdb "$pdb" $crystal $light \
    -doublefile true.bin -noprogress
# shellcheck disable=SC2086
timed again.out "$NANOBRAG" -expt ours.expt -pdb "$pdb" $crystal $light \
    -doublefile again.bin -noprogress
"$python" "$tests/image.py" true.bin again.bin || failed=1
rm -f erl_*.img erl_*.cbf erl.nxs
exit ${failed:-0}
