#!/bin/sh
# outliers.sh PROGRAM planted SEEDS - plants things in images of 200 boxes, and prints how far a fit
# that lets outliers leave is from that of the clean image; then the same with -outliers keep.
# outliers.sh PROGRAM clean DOMAINS FLUENCE WATER STILLS - counts the boxes of clean images that
# leave. The data have other mosaic domains than the fit, and other noise. SPDX-License-Identifier: MIT
program=$(realpath "$1")
what=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
still="-hkl $root/examples/data/2erl_p1.hkl -gauss_xtal -lambda 1.2 -distance 120 -pixel 0.2 \
    -detpixels 512 -oversample 2 -quiet"
true="-cell 53.91 23.10 23.10 90 110.4 90 -N 12 -mosaic 0.3 -mosaic_model domains"
start="-N 10 -mosaic 0.25 -planes -fit cell,misset,mosaic,ncells,scale -json fit.json"

planted()
{
    plant=$root/tests/cli/plant_outliers.py
    bright="-fluence 3e26 -mosaic_domains 400"
    "$program" $still $true $bright -misset 10 20 30 -water 0.05 -mosaic_seed 77 -floatfile model.bin
    "$program" $still $true $bright -misset 50 -30 80 -mosaic_seed 78 -floatfile second.bin
    for seed in $(seq "$1"); do
        python3 "$plant" model.bin 512 200 "$seed" clean moved zingers ring:20 lattice:second.bin
        for how in leave keep; do
            for kind in clean moved zingers ring lattice; do
                "$program" $still $start -cell 54 23.1 23.1 90 110.4 90 -fluence 3e26 \
                    -misset 10.05 19.95 30.05 -boxes boxes.txt -data $kind.bin -outliers $how
                cp fit.json $kind.json
            done
            echo "seed $seed, -outliers $how"
            python3 "$plant" check planted.json
        done
    done
}

clean()
{
    for i in $(seq "$4"); do
        turn="$((i * 91 % 170)) $((i * 53 % 175))"
        "$program" $still $true -fluence "$2" -water "$3" -mosaic_domains "$1" -seed "$i" \
            -mosaic_seed $((i + 500)) -misset $((i * 37 % 180)) $turn -noisefile clean_001.img
        "$program" $still $start -cell 53.95 23.1 23.1 90 110.4 90 -fluence "$2" \
            -misset $((i * 37 % 180)).04 $turn -boxes auto:200:12 -data clean_001.img
        python3 -c '
import json
image = json.load(open("fit.json"))["fit"]["images"][0]
alike = sum((b["correlation"] or 0) > 0.3 for b in image["boxes"])
left = [o["box"] >= 0 for o in image["outliers"]]
print(len(image["boxes"]), alike, sum(left), len(left) - sum(left))'
    done | awk '{ n += $1; a += $2; b += $3; p += $4 }
        END { print n, "boxes,", a, "over 0.3:", b, "boxes and", p, "pixels left" }'
}

"$what" "$@" 2> messages
