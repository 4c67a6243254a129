#!/bin/sh
# from_dials.sh PROGRAM DATA - fits of measured images by one command each, from the files of
# DIALS: the images that the .expt names, compressed or not, and boxes by the .refl, in the
# folder NANOBRAG_MEASURED_DATA. All start values come from the spots. Skipped without that folder.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/frames.sh"
folder=$(dirname "$frames")

# fit NAME OPTIONS...: a fit with planes, and its figures
fit()
{
    echo "# $1"
    name=$1
    shift
    run -gauss_xtal -planes "$@" -exptout fitted.expt -fittable shots.csv
    is "$name: converged" test "$code" -eq 0
    is "$name: starts by the spots" grep -q 'the fit starts from -Na .* by the sizes of' err
    is "$name: no gain is found where a detector counts or a header states it" \
        test "$(grep -c 'takes -gain' err)" -eq 0
    is "$name: a table with a row for each image" \
        test "$(wc -l < work/shots.csv)" -eq $((1 + $(sed -n 's/.* pixels of \([0-9]*\) image.*/\1/p' out)))
    is "$name: the .expt keeps its identifiers" sh -c "grep -q '\"identifier\"' work/fitted.expt"
    grep -E '^(fit|boxes|deviance)' out
}

# figure NAME FOUND LIMIT: at most; -LIMIT: at least
figure()
{
    echo "# $1: $2, allowed $3"
    is "$1" awk "BEGIN { l = $3; exit !(l < 0 ? $2 >= -l : $2 > 0 && $2 <= l) }"
}
alike() { sed -n 's/^boxes  *\([0-9]*\) of .*/\1/p' out; }
median() { sed -n 's/^boxes.* median of \([0-9.]*\)$/\1/p' out; }

# fifteen frames of a sweep on a Pilatus (byte offset, gzip), from the model of the whole sweep
fit L-cysteine -expt "$frames/static_01.expt" -refl "$frames/indexed.refl" \
    -mtz "$frames/measured_F.mtz" -oversample 2 -fit misset,scale,mosaic,ncells,cell -coarse off
is "fifteen images" grep -q 'of 15 images' out
figure "loss" "$(sed -n 's/.*passes, loss \([0-9.]*\) for.*/\1/p' out)" 62740
figure "boxes alike of 215" "$(alike)" -187

# the same frames from dials.index, whose detector is the header's: it is fitted too
fit "L-cysteine as indexed" -expt "$frames/indexed.expt" -refl "$frames/indexed.refl" \
    -mtz "$frames/measured_F.mtz" -oversample 2 -coarse off \
    -fit misset,scale,cell,origin,close_distance,detector_rot,mosaic,ncells -errors boxes
is "frames share 46 boxes, though each has others" grep -q '^errors .*among 46 boxes' out
figure "loss, as indexed" "$(sed -n 's/.*passes, loss \([0-9.]*\) for.*/\1/p' out)" 36500
figure "boxes alike of 215, as indexed" "$(alike)" -195

# an XFEL still on a Rayonix (x-CBF_PACKED), without a model of the structure
fit kapton -expt "$folder/kapton/indexed.expt" -refl "$folder/kapton/indexed.refl" \
    -default_F 100 -fit misset,scale,mosaic,ncells,cell
figure "boxes alike of 42" "$(alike)" -38
figure "median correlation" "$(median)" -0.825

# a still of a grid scan on a Pilatus3 (byte offset, bzip2)
fit thaumatin -expt "$folder/thaumatin/refined.expt" -refl "$folder/thaumatin/indexed.refl" \
    -hkl "$folder/thaumatin/self.hkl" \
    -fit misset,scale,mosaic,ncells,cell
figure "boxes alike of 738" "$(alike)" -654
figure "median correlation" "$(median)" -0.68
exit $((failures > 0))
