#!/bin/sh
# continuous.sh PROGRAM DATA - the options of the mosaic and its model, and drifts.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
gauss="$scene -gauss_xtal -fluence 1e30"

# models that cannot be
refuses 2 '^nanobrag: -mosaic_model gauss needs a gaussian crystal, -gauss_xtal or -gauss_star$' \
    $scene -mosaic_model gauss -floatfile f
refuses 2 '^nanobrag: -mosaic_model gauss needs no number of domains (-mosaic_domains)$' $gauss \
    -mosaic_model gauss -mosaic 1 -mosaic_domains 5 -floatfile f
refuses 2 'needs F of the nearest reflection, -nointerpolate$' $gauss -N 2 -mosaic_model gauss \
    -floatfile f
refuses 2 '^nanobrag: -strain needs -mosaic_model gauss, which needs no number of domains' $gauss \
    -strain 1e-3 -mosaic 1 -mosaic_domains 5 -floatfile f
refuses 2 '^nanobrag: -crystal_size needs -mosaic_model gauss$' $gauss -mosaic_model domains \
    -crystal_size 0.1 -floatfile f
refuses 2 '^nanobrag: -mosaic_tail is 2, expected between 0 and 1$' $gauss -mosaic_model gauss \
    -mosaic_tail 2 -floatfile f
run -compat nanobragg $gauss -mosaic_model gauss
is "no such model of nanoBragg: $code" test "$code" -ne 0
is "and why" grep -q "needs the library's own profile, not -compat nanobragg" out err

# the report names the model and what it integrates
run $gauss -mosaic_model gauss -mosaic_tensor .3 .2 .1 .05 0 0 -osc 7 -dispersion 1 -divergence 1 \
    -mosaic_tail 0.1 -strain 1e-3 -crystal_size 0.1 -floatfile f -json j
is "the model and all that is integrated: $code" grep -q -x \
    'model      continuous (-mosaic_model gauss), with mosaic, rotation, energies, directions in closed form' out
is "the parts of 7 degrees" grep -q '2 phi parts, 1 source' out
is "the model in JSON" grep -q '"mosaic_model":[[:space:]]*"gauss"' work/j
run $gauss -mosaic_model gauss -mosaic 1 -osc 7 -phisteps 3 -floatfile f
is "a number of steps is a sum" grep -q 'with mosaic in closed form' out
run $gauss -mosaic 1 -mosaic_domains 5 -floatfile f
is "domains need no line" test "$(grep -c '^model' out)" -eq 0

# a tail, and its width, of nothing
run $gauss -mosaic_tail 0.1 -floatfile f
is "a tail has no effect without a spread" grep -q \
    'warning: -mosaic_tail has no effect without -mosaic or -mosaic_tensor$' err
run $gauss -mosaic 1 -mosaic_tail_width 3 -floatfile f
is "nor its width without a tail" grep -q 'warning: -mosaic_tail_width has no effect without -mosaic_tail$' err
run $gauss -mosaic_tensor 0.1 0.1 0.1 0 0 0 -mosaic_tail 0.1 -mosaic_tail_width 3 -floatfile f
is "both have one with a tensor" test "$(grep -c tail err)" -eq 0
refuses 2 '^nanobrag: -mosaic_tensor 0.1 0.1 0.1 0.5 0 0 is not positive semi-definite: about some axis the' \
    $gauss -mosaic_tensor .1 .1 .1 .5 0 0 -floatfile f
refuses 2 '^nanobrag: -mosaic_tensor 0.1 0.1 0.1 0.5 0 0 is not positive semi-definite' \
    $gauss -mosaic_tensor .1 .1 .1 .5 0 0 -mosaic_domains 5 -floatfile f

# a tensor of domains
same_image "a tensor that is one spread" "$gauss -mosaic 1 -mosaic_domains 5" \
    "$gauss -mosaic_tensor 1 1 1 0 0 0 -mosaic_domains 5"
run $gauss -mosaic 1 -mosaic_tensor 1 2 3 0 0 0 -mosaic_domains 2 -floatfile f
is "which of two spreads counts" grep -q -e '-mosaic has no effect: -mosaic_tensor comes later' err
run $gauss -mosaic 1 -mosaic_model gauss -gradient mosaic_tensor -floatfile f
for name in a b c ab ac bc; do
    is "mosaic_$name is of the tensor" grep -q "^mosaic_$name " out
done
is "and nothing else" test "$(grep -c '^mosaic' out)" -eq 6

# a sweep drifts about its middle, whose image is that of a crystal without a drift
run $gauss -osc 1 -phisteps 1 -images 3 -floatfile f_1.bin
cp work/f_2.bin still.bin
cp work/f_1.bin first.bin
run $gauss -osc 1 -phisteps 1 -images 3 -rotation_drift 0.5 0.2 0.1 -floatfile f_1.bin
is "the middle of a sweep" cmp -s work/f_2.bin still.bin
is "its first image drifts" sh -c '! cmp -s work/f_1.bin first.bin'
run $gauss -osc 1 -phisteps 1 -images 3 -rotation_drift 0.5 0.2 0.1 -drift_phi 0.5 -floatfile f_1.bin
is "a drift about the first image" cmp -s work/f_1.bin first.bin
run $gauss -osc 1 -drift_phi 3 -floatfile f
is "a place of no drift" grep -q 'warning: -drift_phi has no effect without -rotation_drift' err

# near NAME VALUE ALLOWED: the fit found NAME so near to VALUE
near()
{
    found=$(awk -v name="$1" '$1 == name { sub(/\(.*/, "", $2); print $2 }' out)
    is "$1 is ${found:-not there}, $2 expected, off at most $3" awk -v a="${found:-nan}" -v b="$2" \
        -v most="$3" 'BEGIN { off = a - b; exit !(off <= most && -off <= most) }'
}

# widths that start at 0, and one crystal in three images, about their middle; allowed are 6
# standard errors
still="-cell 50 60 70 90 90 90 -default_F 100 -N 12 -gauss_xtal -mosaic_model gauss -mosaic 0.3
    -fluence 1e28 -detpixels 96 -pixel 1.2 -lambda 1.2 -misset 10 20 30 -oversample 2 -water 0.02"
run $still -strain 4e-3 -crystal_size 0.4 -seed 3 -noisefile n_001.img
cp work/n_001.img .
inputs=n_001.img
run $still -data n_001.img -fit strain,crystal_size,mosaic
near strain 0.004 1.2e-4
near crystal_size 0.4 3e-3
near mosaic 0.3 2e-3
inputs=
case $("$program" -version) in *cjson*)
    run $still -osc 2 -images 3 -rotation_drift .05 .02 .03 -seed 3 -noisefile n_001.img
    cp work/n_00?.img .
    printf '[{"data": "n_001.img", "phi0": 0}, {"data": "n_002.img", "phi0": 2},
        {"data": "n_003.img", "phi0": 4}]\n' > shots.json
    inputs="n_001.img n_002.img n_003.img shots.json"
    run $still -osc 2 -shots shots.json -fit rotation_drift,misset
    near rotation_drift_x 0.05 5e-4
    near rotation_drift_y 0.02 7e-4
    near rotation_drift_z 0.03 1.1e-3
    near misset_x 10 1e-3
    ;;
esac
finish
