#!/bin/sh
# pipes.sh PROGRAM DATA - every input may come from a pipe: the result is that of the file.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
bare="-N 8 -detpixels 40 -pixel 1.9 -oversample 1 -quiet"
cell="-cell 50 60 70"
still="$bare $cell -default_F 100 -gauss_xtal -mosaic 0.4 -mosaic_domains 6 -fluence 1e28 -water 0.02
    -misset 10 20 30"
"$program" $still -seed 1 -noisefile n.img -intfile i.img -floatfile f.bin -doublefile d.bin \
    > out 2> err
mkfifo pipe

# piped FILE RESULT ARGUMENTS...: @ stands for the file, and then for a pipe with its bytes
piped()
{
    file=$1
    result=$2
    shift 2
    what=$*
    rm -f "$result"
    # shellcheck disable=SC2046 # words are options
    "$program" $(echo "$what" | sed "s,@,$file,") > out 2> first
    one=$?
    mv "$result" expected
    cat "$file" > pipe &
    feeder=$!
    # shellcheck disable=SC2046
    "$program" $(echo "$what" | sed "s,@,pipe,") > out 2> second
    two=$?
    kill $feeder 2> err
    wait $feeder 2> err
    sed "s,\"pipe\",\"$file\",g" "$result" > found
    [ $one -eq 0 ] && [ $two -eq 0 ] && cmp -s expected found
    same=$?
    report $same "from a pipe: ${what#"$still"}"
    [ $same -eq 0 ] || { echo "# exits $one, $two"; sed 's/^/# /' second; }
}
printf '1 0 0 10\n0 1 0 20\n' > a.hkl
"$program" $bare $cell -hkl a.hkl -dump a.dump -floatfile x > out 2> err
printf '0 20 0 20\n' > b.box
printf '%s\n' '-1 0 0 1 1e-10' > s.src
printf '0 2\n0.1 3\n0.2 3\n0.3 3\n0.5 3\n' > w.stol
printf '12000 1\n12500 2\n' > p.txt
printf '0.02 0.01 0\n0 0.02 0\n0 0 0.015\n' > a.mat
printf 'scale\n1\n2\n' > s.txt
piped a.hkl o.bin $bare $cell -hkl @ -floatfile o.bin
piped a.dump o.bin $bare $cell -dump @ -floatfile o.bin
piped a.mat o.bin $bare -default_F 10 -mat @ -floatfile o.bin
piped i.img o.bin $still -img @ -floatfile o.bin
piped i.img o.bin $still -mask @ -floatfile o.bin
piped s.src o.bin $still -sourcefile @ -floatfile o.bin
piped p.txt o.bin $still -spectrum @ -floatfile o.bin
piped w.stol o.bin $still -stol @ -floatfile o.bin
piped b.box o.bin $still -boxes @ -floatfile o.bin
piped s.txt o_00002.bin $still -shots @ -floatfile o.bin
piped f.bin o.bin $still -add @ 0.5 -floatfile o.bin
piped d.bin o.bin $still -add @ 0.5 -floatfile o.bin
piped "$data/XPARM.XDS" o.bin -N 8 -default_F 10 -xparm @ -floatfile o.bin -roi 0 40 0 40 -oversample 1 \
    -quiet
if "$program" -version | grep -q cjson; then
    "$program" $still -truth t.expt -floatfile x > out 2> err
    piped t.expt o.bin -N 8 -default_F 10 -oversample 1 -expt @ -floatfile o.bin -quiet
    piped d.bin g.json $still -gradient scale -cotangent @ -gradfile g.json
    "$program" $still -geomout g.geom -floatfile x > out 2> err
    piped g.geom o.bin -N 8 $cell -default_F 10 -lambda 1 -oversample 1 -geom @ -floatfile o.bin -quiet
fi
if "$program" -version | grep -q gemmi; then
    for model in "$data"/structures/*; do
        piped "$model" o.bin $bare -pdb @ -dmin 8 -floatfile o.bin
    done
    "$program" $bare $cell -hkl a.hkl -fmtz a.mtz -floatfile x > out 2> err
    piped a.mtz o.bin $bare -mtz @ -floatfile o.bin
fi
if "$program" -version | grep -q lapack && "$program" -version | grep -q cjson; then
    fit="-fit scale -param scale=0.9 -fitfile o.json"
    for image in n.img f.bin d.bin; do piped $image o.json $still $fit -data @; done
    piped i.img o.json $still $fit -data n.img -data_mask @
    piped f.bin o.json $still $fit -data n.img -data_mask @
    echo '[{"data": "n.img"}]' > list.json
    piped list.json o.json $still $fit -shots @
    "$program" $still $fit -data n.img -fit_passes 1 > out 2> err
    mv o.json part.json
    piped part.json o.json $still $fit -data n.img -resume @
    head -c 3000 f.bin | "$program" $still $fit -data /dev/stdin > out 2> err
    is "one that ends early is named" grep -q '^nanobrag: /dev/stdin: .*3000 bytes, expected' err
    head -c 20000000 /dev/zero | "$program" $still $fit -data /dev/stdin > out 2> err
    is "one that does not end too" grep -q '^nanobrag: /dev/stdin: .* bytes, expected' err
fi
finish
