#!/bin/sh
# frames.sh PROGRAM DATA - where the rotation of each image of a fit begins: where its header
# says, unless an option or a list does.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

if ! "$program" -version | grep -q lapack || ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no LAPACK or no cJSON"
    exit 77
fi

sweep="-cell 50 60 70 90 90 90 -default_F 100 -N 8 -gauss_xtal -fluence 1e28 -detpixels 64 \
    -pixel 1.2 -oversample 1 -water 0.02 -misset 10 20 30 -mosaic 0.4 -osc 1"
run $sweep -phi 12 -images 3 -seed 1 -noisefile n_1.img -floatfile f_1.bin
cp work/n_?.img work/f_?.bin .
inputs="n_1.img n_2.img n_3.img f_1.bin f_2.bin"
fit="-fit misset_x,scale"

# right: the fit has converged where the images were drawn
right()
{
    is "$1" sh -c "test $code -eq 0 && ! grep -q 'warning: the misfit is' err"
    [ "$code" -eq 0 ] || sed 's/^/# /' err
}

# a header says where each frame begins
run $sweep $fit -data n_1.img -data n_2.img -data n_3.img
right "frames are taken at the angles of their headers"
is "which is said" grep -q \
    'note: n_1.img begins at 12 degrees, as the header says (other images likewise), but the scene begins at 0 degrees; -phi' err
is "once" [ "$(grep -c begins err)" -eq 1 ]
run $sweep $fit -data n_3.img
right "and so is a single one"
is "which is said of it" grep -q 'note: n_3.img begins at 14 degrees, as the header says, but the scene begins at 0 degrees;' err
run $sweep $fit,rotation_drift_z -data n_1.img -data n_3.img
is "a drift is 0 in the middle of these" grep -q 'note: the drift is 0 in the middle of all images, at phi 13.5 degrees;' err

# miniCBF, plain and compressed, states the angles too
run $sweep -phi 12 -images 3 -seed 1 -imagefile c_1.cbf
cp work/c_?.cbf .
inputs="c_1.cbf c_2.cbf.gz c_3.cbf:0 c_3.cbf"
if [ -e c_3.cbf ]; then
    gzip -k c_2.cbf
    run $sweep $fit -data c_1.cbf -data c_2.cbf.gz -data c_3.cbf:0
    ! "$program" -version | grep -q gemmi || right "and miniCBF"
    refuses 2 '^nanobrag: c_3.cbf:1: frame 1 was asked for, expected 0 to 0' $sweep $fit -data c_3.cbf:1
fi
run $sweep -phi 12 -images 3 -seed 1 -imagefile s.nxs
cp work/s.nxs .
inputs=s.nxs
if [ -e s.nxs ]; then
    run $sweep $fit -data s.nxs -data s.nxs:2
    right "frames of NXmx are taken at their angles"
    refuses 2 '^nanobrag: s.nxs:3: frame 3 was asked for, expected 0 to 2' $sweep $fit -data s.nxs:3
fi
inputs="n_1.img n_2.img n_3.img f_1.bin f_2.bin"

# options and lists count more
run $sweep -phi 14 $fit -data n_3.img
right "-phi may say the same"
is "then nothing is said" [ "$(grep -c -e begins -e header err)" -eq 0 ]
run $sweep -phi 12 $fit -data n_3.img
is "-phi counts more, with a warning" grep -q \
    'warning: n_3.img: the header has a start at 14 degrees but the scene has 12 degrees; check' err
refuses 2 '^nanobrag: -phi gives all images one start angle, but the header of n_1.img has 12 degrees and the header of n_2.img has 13 degrees;' \
    $sweep -phi 12 $fit -data n_1.img -data n_2.img
refuses 2 '^nanobrag: -phi gives all images one start' $sweep -param phi0=12 $fit -data n_1.img -data n_2.img
printf '[{"data": "n_1.img", "phi0": 12}, {"data": "n_2.img"}]' > list.json
inputs="$inputs list.json"
run $sweep $fit -shots list.json
right "a list may say some"
is "and headers the others" grep -q 'note: n_2.img begins at 13 degree' err
printf '[{"data": "n_1.img", "phi0": 14}]' > list.json
run $sweep $fit -shots list.json
is "a list counts more, with a warning" grep -q 'n_1.img: the header has a start at 12 degrees but the scene has 14 degrees' err

# where no header says, the scene does
run $sweep -phi 13 $fit -data f_2.bin
is "raw floats have the angle of the scene" sh -c "test $code -eq 0 && ! grep -q -e begins -e header err"
run $sweep -osc 0 $fit -data n_1.img -fit_passes 1
is "a still has no start" [ "$(grep -c begins err)" -eq 0 ]
is "but the header a rotation" grep -q 'n_1.img: the header has a rotation by 1 degrees but the scene has 0 degrees; check' err

finish
