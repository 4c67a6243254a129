#!/bin/sh
# sweep.sh PROGRAM DATA - a fit to fifteen measured frames of L-cysteine in the folder
# NANOBRAG_MEASURED_DATA: it converges, from a scale that is far off too, describes the
# frames as well as a fit by hand does, and its errors reach the cell of another program.
# Skipped without that folder. SPDX-License-Identifier: MIT
. "$(dirname "$0")/frames.sh"
separator='['
for i in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do
    python3 "$here/cbf_floats.py" "$frames/l-cyst_01_000$i.cbf.gz" f$i.bin || exit 1
    phi=$(awk "BEGIN { print -145 + 0.1 * ($i - 1) }")
    printf '%s{"data": "%s/f%s.bin", "phi0": %s}' "$separator" "$place" $i "$phi" >> shots.json
    separator=','
done
printf ']\n' >> shots.json

# fit OPTIONS...: the fit of all frames; a later option counts
fit()
{
    run -expt "$frames/static_01.expt" -mtz "$frames/measured_F.mtz" -gauss_xtal \
        -fluence 1e24 -osc 0.1 -oversample 2 -shots "$place/shots.json" -planes \
        -boxes "$frames/boxes.txt" -Na 100 -Nb 70 -Nc 45 -mosaic 0.3 -mosaic_domains 24 \
        -phisteps 2 -detector_thicksteps 2 -coarse off -json fit.json "$@"
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

for scale in 0.7 500; do
    fit -fit misset,scale,mosaic,ncells,cell -param scale=$scale
    is "converged from a scale of $scale" grep -q '^fit  *converged' out
    # 80235.99 were found; a fit that goes on to a gain of 1e-3 finds 0.4 less
    below "loss" 80236.5 "$(sed -n 's/.*passes, loss \([0-9.]*\) for.*/\1/p' out)"
    below "rms of z" 1.57 "$(sed -n 's/^  all  *\([0-9.]*\) rms.*/\1/p' out)"
    below "passes" 30 "$(sed -n 's/^ *\([0-9]*\) passes, loss.*/\1/p' out)"
    cell 8
done
exit $((failures > 0))
