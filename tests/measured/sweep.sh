#!/bin/sh
# sweep.sh PROGRAM DATA - a fit to fifteen measured frames of L-cysteine in the folder
# NANOBRAG_MEASURED_DATA: it converges, from a scale that is far off too, describes the
# frames as well as a fit by hand does, and its errors reach the cell of another program.
# Skipped without that folder. SPDX-License-Identifier: MIT
. "$(dirname "$0")/frames.sh"
separator='['
for i in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do
    printf '%s{"data": "%s/l-cyst_01_000%s.cbf.gz"}' "$separator" "$frames" $i >> shots.json
    separator=','
done
printf ']\n' >> shots.json

# fit OPTIONS...: the fit of all frames; a later option counts
fit()
{
    run -expt "$frames/static_01.expt" -mtz "$frames/measured_F.mtz" -gauss_xtal \
        -fluence 1e24 -osc 0.1 -oversample 2 -shots "$place/shots.json" -planes \
        -boxes "$frames/boxes.txt" -Na 100 -Nb 70 -Nc 45 -coarse off -json fit.json "$@"
    grep -E '^(fit|errors)|^ *[0-9]+ passe|^  all|cell_' out
}

# below NAME LIMIT FOUND
below()
{
    echo "# $1: $3, allowed $2"
    is "$1" awk "BEGIN { exit !($3 > 0 && $3 <= $2) }"
}

# cell LIMIT: how many errors the cell is from that of DIALS for the whole sweep
cell()
{
    is "cell within $1 errors of DIALS" python3 - work/fit.json "$1" << 'PY'
import json, sys
dials = {"cell_a": 5.430595, "cell_b": 8.144794, "cell_c": 12.06124}
worst = 0
for v in json.load(open(sys.argv[1]))["fit"]["values"]:
    if v["name"] in dials:
        off = (v["value"] - dials[v["name"]]) / v["error"]
        print("# %s %.5f +- %.5f, %.1f errors off" % (v["name"], v["value"], v["error"], off))
        worst = max(worst, abs(off))
sys.exit(not 0 < worst < float(sys.argv[2]))
PY
}

# found NAME LOSS RMS PASSES: the fit converged, and its figures are at most these
found()
{
    is "converged, $1" grep -q '^fit  *converged' out
    below "loss, $1" "$2" "$(sed -n 's/.*passes, loss \([0-9.]*\) for.*/\1/p' out)"
    below "rms of z" "$3" "$(sed -n 's/^  all  *\([0-9.]*\) rms.*/\1/p' out)"
    below "passes" "$4" "$(sed -n 's/^ *\([0-9]*\) passes, loss.*/\1/p' out)"
}

# one isotropic gaussian, of which 76479.05 was found, from two scales
for scale in 0.7 500; do
    fit -mosaic 0.3 -detector_thicksteps 2 -fit misset,scale,mosaic,ncells,cell \
        -param scale=$scale
    found "from a scale of $scale" 76479.5 1.5 20
    cell 8
done

# a tensor and its tail, and what the geometry of the frames lacks
free=misset,scale,mosaic_tensor,mosaic_tail,mosaic_tail_width,ncells,cell,crystal_size
free=$free,strain,rotation_drift,origin,detector_rotx,detector_roty,distance
fit -mosaic_tensor 0.2 0.08 0.05 0 0 0 -mosaic_tail 0.05 -mosaic_tail_width 5 \
    -detector_thicksteps 5 -crystal_system triclinic -errors boxes -fit $free
found "of tensor and tail" 31000 1.10 25
# by the misfit of pixels it is 5.4, 2.2 and 8.7 errors off
cell 4

# a third of the frames, which the fit does not see: all but that of the strongest spot's
# peak, whose grains no smooth distribution has, are described as well as the others
fit -mosaic_tensor 0.2 0.08 0.05 0 0 0 -mosaic_tail 0.05 -mosaic_tail_width 5 \
    -detector_thicksteps 5 -crystal_system triclinic -errors counting -fit $free -holdout 3
held() { python3 -c "import json; print(json.load(open('work/fit.json'))['fit']['held_out']['$1'])"; }
below "held out: rms of z" 1.10 "$(held z_rms)"
below "held out: deviance over its expectation, 1.40 of the others" 1.55 "$(held over_expected)"
below "held out: R of boxes, 0.049 of the others" 0.07 "$(held r_boxes)"
exit $((failures > 0))
