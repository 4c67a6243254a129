#!/bin/sh
# planes.sh PROGRAM DATA - fits with planes to frames that have 0.03 photons a pixel, in the
# folder NANOBRAG_MEASURED_DATA, and the loss of one box against a search by hand. Skipped
# without that folder. SPDX-License-Identifier: MIT
. "$(dirname "$0")/frames.sh"
python3 "$here/cbf_floats.py" "$frames/l-cyst_01_00001.cbf.gz" f1.bin || exit 1

# fit FRAME BOXES OPTIONS...: the fit of a frame; a later option counts
fit()
{
    frame=$frames/l-cyst_01_0000$1.cbf.gz
    boxes=$frames/$2
    shift 2
    run -expt "$frames/static_01.expt" -mtz "$frames/measured_F.mtz" -gauss_xtal \
        -fluence 1e24 -osc 0.1 -oversample 2 -data "$frame" -planes -boxes "$boxes" \
        -Na 100 -Nb 70 -Nc 45 -mosaic 0.3 -mosaic_domains 24 -phisteps 2 \
        -misset 0.4 -0.4 0.4 -detector_thicksteps 2 -fit misset,scale -coarse off \
        -param scale=0.7 "$@"
}

# finite WHAT: the fit ended by itself, with numbers
finite()
{
    is "$1: converged" grep -q '^fit  *converged' out
    is "$1: loss and residuals are numbers" \
        sh -c 'grep -q "passe*s*, loss [0-9]" out && grep -q "^residuals" out &&
               ! grep -E -q "[^a-z](inf|nan|-inf)[^a-z]" out err'
    grep -E '^(fit|residuals)' out
}

fit 1 b37.txt
finite "two photons in a box where the image is 0"
is "its loss is that of the best plane" python3 "$here/least_plane.py" f1.bin 1475 \
    "$frames/b37.txt" "$(sed -n 's/.*loss \([0-9.]*\) for.*/\1/p' out)"
for i in 1 5; do
    fit $i boxes.txt
    finite "frame $i, 41 boxes"
done
fit 1 boxes.txt -misset 0 0 0
finite "frame 1, another start"
exit $((failures > 0))
