#!/bin/sh
# outliers.sh PROGRAM DATA - things that no model has are planted in an image: boxes whose data lie
# elsewhere, zingers, a ring of ice, a second lattice. They leave the fit, and its values are those
# of a fit without them. The data have other mosaic domains than the fit, and noise from elsewhere.
# SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
"$program" -version | grep -q lapack && "$program" -version | grep -q cjson \
    && command -v python3 > out || { echo "# needs LAPACK, cJSON and python3"; exit 77; }

still="-hkl $here/../../examples/data/2erl_p1.hkl -gauss_xtal -lambda 1.2 -distance 120 -pixel 0.2 \
    -detpixels 320 -oversample 2 -fluence 3e26"
drawn="-cell 53.91 23.10 23.10 90 110.4 90 -N 12 -mosaic 0.3 -mosaic_model domains \
    -mosaic_domains 200 -quiet"
run $still $drawn -misset 10 20 30 -water 0.05 -mosaic_seed 77 -floatfile model.bin
cp work/model.bin .
run $still $drawn -misset 50 -30 80 -mosaic_seed 78 -floatfile second.bin
cp work/second.bin .
is "images are planted" python3 "$here/plant_outliers.py" model.bin 320 80 1 clean moved zingers \
    ring:30 lattice:second.bin

inputs="boxes.txt clean.bin moved.bin zingers.bin ring.bin lattice.bin"
fit()
{
    kind=$1
    shift
    run $still -cell 54 23.1 23.1 90 110.4 90 -N 10 -mosaic 0.25 -misset 10.05 19.95 30.05 \
        -boxes boxes.txt -planes -fit cell,misset,mosaic,ncells,scale -data "$kind.bin" \
        -json fit.json "$@"
    is "$kind $*: converged" [ "$code" -eq 0 ]
    cp work/fit.json "$kind.json"
}
fit clean
is "nothing leaves a clean image" [ "$(grep -c '^outliers' out)" -eq 0 ]
for kind in moved zingers ring lattice; do
    fit $kind -fittable shots.csv
    is "$kind: the report names what leaves" \
        grep -q '^outliers     [0-9]* box.* single pixels* left the fit by themselves; -outliers keep' out
    is "$kind: the table names it" grep -q 'deviations above' work/shots.csv
done
is "what was planted leaves, and values stay within 3 errors" \
    python3 "$here/plant_outliers.py" check planted.json
fit moved -outliers keep
is "-outliers keep: nothing leaves" [ "$(grep -c '^outliers' out)" -eq 0 ]
run $still -cell 54 23.1 23.1 90 110.4 90 -outliers leave -floatfile f.bin
is "-outliers without a fit has no effect" grep -q 'warning: -outliers' err
exit $((failures > 0))
