#!/bin/sh
# gradients.sh PROGRAM DATA - -param, -gradient and -jacobian against images at shifted
# parameters. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

numbers()
{
    od -A n -v -t f8 -w8 "$1"
}

# near ALLOWED FIRST SECOND: raw doubles, within a fraction of the first one's maximum
near()
{
    (numbers "$2"; echo end; numbers "$3") | awk -v allowed="$1" '
        $1 == "end" { n = NR - 1; second = 1; next }
        !second { one[NR] = $1; if ($1 * $1 > peak) peak = $1 * $1; next }
        { d = $1 - one[NR - n - 1]; if (d * d > most) most = d * d }
        END {
            off = peak > 0 ? sqrt(most / peak) : 1
            if (NR != 2 * n + 1 || !(off <= allowed)) { print "# off by " off; exit 1 }
        }'
}

# ---- -param is the option of the same number, where that moves no count ----
same()
{
    run $scene -oversample 2 $1 -doublefile d.bin -noisefile n_1.img -seed 3
    cp work/d.bin given.bin
    cp work/n_1.img given.img
    run $scene -oversample 2 $2 -doublefile d.bin -noisefile n_1.img -seed 3
    is "$2 is $1" near 1e-12 given.bin work/d.bin
    is "with its noise and header" cmp -s given.img work/n_1.img
}
same "-distance 90" "-param distance=90"
same "-cell 31 42 53 80 95 100" "-param cell_a=31 -param cell_b=42 -param cell_c=53 \
    -param cell_alpha=80 -param cell_beta=95 -param cell_gamma=100"
same "-misset 1 -2 3" "-misset 4 5 6 -param misset_x=1 -param misset_y=-2 -param misset_z=3"
same "-lambda 1.1" "-param wavelength=1.1"
same "-Na 5" "-param ncells_a=5"
same "-default_F 20" "-param default_f=20"
same "-mosaic 0.5 -mosaic_dom 3" "-mosaic 1 -mosaic_dom 3 -param mosaic=0.5"
same "-phi 10 -osc 0.6 -phisteps 3" "-osc 1 -phisteps 3 -param phi0=10 -param osc=0.6"
same "-water 5" "-param water=5"
same "-fluence 1e28" "-param fluence=1e28"
same "-polar 0.5" "-param polarization=0.5"
same "-twotheta 7 -detector_rotx 2" "-param twotheta=7 -param detector_rotx=2"
same "-detector_thick 200 -detector_abs 300" \
    "-detector_thick 100 -detector_abs 500 -param thickness=200 -param attenuation=300"
same "-dispersion 3 -dispsteps 4" "-dispersion 1 -dispsteps 4 -param dispersion=0.03"
same "-hdivrange 3 -hdivsteps 3" "-hdivrange 1 -hdivsteps 3 -param hdivrange=3"
same "-distance 80" "-param distance=90 -param distance=80"
if "$program" -version | grep -q fftw; then
    same "-psf gauss -psf_fwhm 2 -psf_radius 6" \
        "-psf gauss -psf_fwhm 1 -psf_radius 6 -param psf_fwhm=2"
fi
run $scene -compat nanobragg -nonoise -nopgm -doublefile d.bin -param distance=90 -intfile i.img
is "-param under -compat" grep -a -q '^DISTANCE=90;' work/i.img
if command -v python3 > /dev/null && "$program" -version | grep -q cjson; then
    run $scene -param b_factor=7 -param distance=90 -json -
    is "-json tells what was set, and what it comes to" python3 -c '
import json
j = json.load(open("out"))
assert j["parameters"] == [{"name": "distance", "unit": "mm", "value": 90},
                           {"name": "b_factor", "unit": "A^2", "value": 7}][::-1]
assert j["detector"]["distance_mm"] == 90
'
fi
run $scene -phi 10 -osc 0.7 -phisteps 3 -images 3 -doublefile x.bin
cp work/x_00003.bin third.bin
run $scene -osc 1 -phisteps 3 -param phi0=10 -param osc=0.7 -images 3 -doublefile x.bin
is "sweeps start at phi0 and advance by osc" near 1e-12 third.bin work/x_00003.bin

# a spread about three axes is one of its own: equal, it is the spread in all directions
run $scene -mosaic 0.5 -mosaic_dom 3 -doublefile d.bin
cp work/d.bin given.bin
run $scene -mosaic 0.5 -mosaic_dom 3 -param mosaic_b=0.5 -doublefile d.bin
is "-param mosaic_b is -mosaic" near 1e-12 given.bin work/d.bin
run $scene -mosaic 0.5 -mosaic_dom 3 -param mosaic_b=0.1 -gradient mosaic_axes \
    -doublefile d.bin -gradfile g
is "-param mosaic_b moves the image" sh -c "! cmp -s given.bin work/d.bin"
is "with a gradient in three spreads" test "$(grep -c mosaic_ work/g)" -eq 3

# the spreads turn with the crystal: what phi turns, or a rotation beforehand, is one crystal
spread="-mosaic 0.5 -mosaic_dom 5 -param mosaic_b=0.1 -param mosaic_c=1.5 -osc 2 -phisteps 2"
run $scene -dials $spread -phi -145 -spindle_axis 0 0 1 -doublefile d.bin
cp work/d.bin given.bin
run $scene -dials $spread -phi -0.75 -spindle_axis 0 0 1 -param rotation_z=-144.25 -doublefile d.bin
is "a crystal that was turned beforehand" near 1e-12 given.bin work/d.bin
if "$program" -version | grep -q cjson; then
    run $scene -dials $spread -phi -0.75 -spindle_axis 0 0 1 -param rotation_z=-144.25 \
        -doublefile d.bin -truth t.expt
    cp work/t.expt .
    inputs=t.expt
    run $scene $spread -expt t.expt -doublefile d.bin
    is "and one of an .expt" near 1e-12 given.bin work/d.bin
    inputs=
fi

# On a reflection the slope of an interpolated F jumps. All ways take the same side.
awk 'BEGIN { for (h = -3; h <= 3; h++) for (k = -3; k <= 3; k++) for (l = -3; l <= 3; l++)
    print h, k, l, 50 + 20 * ((7 * h + 3 * k + l * l + 70) % 5) }' > k.hkl
inputs="$place/k.hkl"
for way in lanes reference; do
    run -cell 25 30 35 -hkl k.hkl -N 2 -detpixels 3 -pixel 3 -oversample 1 -strategy $way \
        -gradient origin -gradfile g -jacobian origin -jacobianfile j.bin
    is "gradient and derivatives agree on a reflection, by $way" sh -c "
        od -A n -v -t f8 -w8 work/j.bin | awk '
            { sum[int((NR - 1) / 9)] += \$1; size += \$1 * \$1 }
            END { for (i = 0; i < 2; i++) printf \"%.17g %g\n\", sum[i], size }' > sums
        grep -o '\"gradient\": [-0-9][-0-9.e+]*' work/g | sed 's/.*: //' | paste - sums | awk '
            { d = \$1 - \$2; if (!(d * d <= 1e-20 * \$3)) exit 1 }'"
done
inputs=

run $scene -param fudge=2 -doublefile d.bin
is "what has no influence is said" grep -q 'warning: -param fudge=2: fudge has no effect' err
run $scene -hkl "$place/k.hkl" -N 3 -param ncells_a=1.5 -param ncells_b=1.5 -param ncells_c=1.5 -explain -verbose
is "-param does not choose the interpolation" grep -q 'auto-selected no interpolation' out

# ---- counts are decided without it ----
counts()
{
    grep -e 'oversample steps' -e 'phi steps' -e 'mosaic domains' out
}
run $scene -osc 1 -explain
counts > without
run $scene -osc 1 -explain -param cell_a=300 -param ncells_a=40 -param distance=1000
counts > with
is "counts stay" cmp -s without with
is "while the numbers are those of -param" grep -q 'distance along the beam  *1000 mm' out
run -cell 300 40 50 -default_F 10 -Na 40 -Nb 4 -Nc 4 -detpixels 24 -pixel 1 -distance 1000 \
    -osc 1 -explain
counts > others
is "which by themselves give others" sh -c '! cmp -s without others'

# ---- the gradient, against differences of a weighted sum ----
smooth="-cell 31.4 37.2 43.9 81 96 103 -misset 12 -33 71 -default_F 80 -lambda 1.1 -N 5 \
    -mosaic 0.8 -mosaic_dom 3 -phi 2 -osc 1.5 -phisteps 2 -distance 80 -detpixels 16 \
    -pixel 1.1 -oversample 1 -detector_rotx 3 -detector_roty -4 -twotheta 6 -polar 0.6 \
    -water 0.01 -quiet"
"$program" -cell 20 30 25 -default_F 1 -N 1 -detpixels 16 -pixel 1.1 -oversample 2 -quiet \
    -doublefile weight.bin 2> /dev/null
inputs="$place/weight.bin"
weighted()
{
    (numbers weight.bin; numbers "$1") | awk '
        NR <= 256 { w[NR] = $1; next }
        { sum += w[NR - 256] * $1 }
        END { if (NR == 512) printf "%.17g\n", sum }'
}
# entry NAME KEY: of the JSON
entry()
{
    sed -n "s/.*\"name\": \"$1\",.*\"$2\": \([-+0-9.e]*\)[,}].*/\1/p" work/g.json
}
at()
{
    "$program" $smooth $4 -param "$1=$(awk "BEGIN { printf \"%.17g\", $2 + $3 }")" \
        -doublefile at.bin 2> /dev/null
    weighted at.bin
}
# Romberg's first column of central differences; S = the sum of |weight derivative|
slope_of()
{
    name=$1 h=$2
    shift 2
    value=$(entry "$name" value)
    size=$( (numbers weight.bin; numbers column.bin) | awk '
        NR <= 256 { w[NR] = $1; next }
        { d = w[NR - 256] * $1; sum += d < 0 ? -d : d }
        END { printf "%.17g\n", sum }')
    set -- "$(at "$name" "$value" "$h" "$*")" "$(at "$name" "$value" "-$h" "$*")" \
        "$(at "$name" "$value" "$h / 2" "$*")" "$(at "$name" "$value" "-$h / 2" "$*")"
    awk "BEGIN {
        d = (4 * ($3 - ($4)) / $h - ($1 - ($2)) / (2 * $h)) / 3; g = $(entry "$name" gradient)
        off = (g - d) / $size; if (off < 0) off = -off
        print \"# $name: gradient \" g \", differences \" d \", off by \" off \" of S\"
        exit !($size > 0 && off <= 1e-8) }"
}
check_gradient()
{
    names=$(printf '%s\n' $1 | cut -d : -f 1 | paste -s -d , -)
    wanted=$1
    shift
    run $smooth "$@" -cotangent weight.bin -gradient "$names" -gradfile g.json \
        -jacobian "$names" -jacobianfile j.bin -doublefile d.bin
    is "gradient and derivatives, $* " test "$code" -eq 0
    is "in the order listed" test "$(sed -n 's/.*"name": "\([^"]*\)".*/\1/p' work/g.json \
        | paste -s -d , -)" = "$names"
    is "loss is the weighted sum" awk "BEGIN {
        l = $(sed -n 's/.*"weighted_sum": \(.*\),/\1/p' work/g.json); s = $(weighted work/d.bin)
        exit !(s > 0 && (l - s)^2 <= (1e-14 * s)^2) }"
    i=0
    for pair in $wanted; do
        tail -c +$((i * 16 * 16 * 8 + 1)) work/j.bin | head -c $((16 * 16 * 8)) > column.bin
        # the column times the weights is the entry
        is "${pair%:*}: tangent and adjoint agree" awk "BEGIN {
            t = $(weighted column.bin); g = $(entry "${pair%:*}" gradient)
            exit !((t - g)^2 <= (1e-11 * ($(weighted work/d.bin) + (t < 0 ? -t : t)))^2) }"
        is "${pair%:*}: and the differences" slope_of "${pair%:*}" "${pair#*:}" "$@"
        i=$((i + 1))
    done
}
check_gradient "wavelength:1e-4 cell_a:3e-3 cell_gamma:3e-3 misset_y:3e-3 ncells_b:1e-2 \
    mosaic:3e-3 distance:3e-2 pixel:1e-4 detector_rotx:1e-2 twotheta:1e-2 phi0:3e-3 \
    osc:3e-3 polarization:1e-1 default_f:1 scale:1e-1 water:1e-4 b_factor:1e-1"
check_gradient "distance:3e-2 misset_x:3e-3 default_f:1" -roi 2 9 3 12
check_gradient "cell_b:3e-3 origin_x:3e-3" -param cell_b=38 -param origin_x=9
check_gradient "cell_c:3e-3 thickness:1 attenuation:1" -strategy reference \
    -detector_thick 100 -detector_abs 200
if "$program" -version | grep -q fftw; then
    check_gradient "psf_fwhm:1e-2 pixel:1e-4 cell_a:3e-3" -psf gauss -psf_fwhm 2 -roi 2 12 3 12
fi
inputs=

# ---- without weights, at x, in every spelling ----
run $scene -gradient scale -gradfile g.json -doublefile d.bin -param scale=2
is "without weights the loss is the sum, which scale doubles" awk "BEGIN {
    l = $(sed -n 's/.*"weighted_sum": \(.*\),/\1/p' work/g.json)
    exit !(l > 0 && (l - 2 * $(entry scale gradient))^2 < (1e-12 * l)^2) }"
is "the value is that of -param" test "$(entry scale value)" = 2
run $scene -gradient scale
is "without -gradfile a table" grep -q '^scale  *1  *1  *[0-9]' out
is "and no file" test ! -s listing
run $scene -quiet -gradient misset,cell_a
is "which -quiet leaves" test "$(sed -n '/^parameter/,$p' out | cut -d ' ' -f 1 \
    | tail -n +2 | paste -s -d ' ' -)" = "misset_x misset_y misset_z cell_a"
run $scene -gradient "cell_b, cell,cell_c" -gradfile -
is "-gradfile - writes to stdout alone" sh -c 'head -n 1 out | grep -q "^{$"'
is "each parameter once, in the order listed" test "$(sed -n 's/.*"name": "\([^"]*\)".*/\1/p' \
    out | paste -s -d ' ' -)" = "cell_b cell_a cell_c cell_alpha cell_beta cell_gamma"
run $scene -gradient all -gradfile g.json -threads 1
cp work/g.json all.json
is "all: what applies" grep -q '"name": "distance"' all.json
is "and nothing else" sh -c '! grep -q -e a_star_x -e thickness -e "\"F" all.json'
run $scene -gradient all -gradfile g.json -threads 3
is "the same bits for any number of threads" cmp -s all.json work/g.json
if command -v python3 > /dev/null; then
    is "the JSON is JSON" python3 -c '
import json
j = json.load(open("all.json"))
assert set(j) == {"weighted_sum", "gradient"} and len(j["gradient"]) > 20
assert all(set(e) == {"name", "unit", "value", "gradient"} for e in j["gradient"])
assert len({e["name"] for e in j["gradient"]}) == len(j["gradient"])
'
fi
run $scene -jacobian misset_z,cell -jacobianfile j.bin
is "groups in a Jacobian" test "$(wc -c < work/j.bin)" -eq $((7 * 24 * 24 * 8))
is "whose order is told" grep -q \
    '^  *j.bin holds derivatives by misset_z cell_a cell_b cell_c cell_alpha cell_beta cell_gamma$' out
run $scene -gradient "misset  scale, cell_a" -gradfile words.json
is "blanks part names as commas do" test "$(grep -c '"name"' work/words.json)" -eq 5
"$program" -list_params > params
is "-list_params needs no scene" test $? -eq 0
is "and lists name, group, unit" grep -q '^misset_x  *misset  *degree ' params

# ---- structure factors ----
inputs=$data/golden/p1.hkl
listed="-cell 30 40 50 -N 3 -detpixels 24 -pixel 1 -nointerpolate -default_F 0 -quiet"
run $listed -hkl p1.hkl -hklgradfile g.hkl -gradient scale -gradfile g.json
is "h k l dL/dF for every listed reflection" test "$(wc -l < work/g.hkl)" \
    -eq "$(awk '!/^#/ && NF == 4 { print $1, $2, $3 }' "$data/golden/p1.hkl" | sort -u \
        | wc -l)"
# the image is quadratic in F
is "the sum of F dL/dF is twice the sum" awk -v loss="$(entry scale gradient)" '
    NR == FNR { if (!/^#/ && NF == 4) f[$1 " " $2 " " $3] = $4; next }
    { sum += f[$1 " " $2 " " $3] * $4 }
    END { exit !(loss > 0 && (sum - 2 * loss)^2 < (1e-11 * loss)^2) }' \
    "$data/golden/p1.hkl" work/g.hkl
most=$(awk '{ print ($4 < 0 ? -$4 : $4), $0 }' work/g.hkl | sort -g | tail -n 1 \
    | cut -d ' ' -f 2-)
set -- $most
run $listed -hkl p1.hkl -gradient "F[$1, $2, $3],cell_a" -gradfile g.json -jacobian "F[$1,$2,$3]" \
    -jacobianfile j.bin
is "its derivative adds up to its gradient" sh -c "od -A n -v -t f8 -w8 work/j.bin | awk '
    { sum += \$1 }
    END { exit !((sum - $4)^2 < (1e-11 * $4)^2) }'"
is "one structure factor by name" test "$(entry "F\\[$1,$2,$3\\]" gradient)" = "$4"
f=$(entry "F\\[$1,$2,$3\\]" value)
run $listed -hkl p1.hkl -param "F[$1,$2,$3]=$(awk "BEGIN { print $f + 1 }")" -doublefile a
cp work/a above.bin
run $listed -hkl p1.hkl -param "F[$1,$2,$3]=$(awk "BEGIN { print $f - 1 }")" -doublefile b
is "and by differences" sh -c "(od -A n -v -t f8 -w8 above.bin | sed 's/^/+ /'
    od -A n -v -t f8 -w8 work/b | sed 's/^/- /') | awk '
    { sum += (\$1 == \"+\" ? 1 : -1) * \$2 / 2 }
    END { exit !((sum - $4)^2 < (1e-10 * $4)^2) }'"
run $listed -hkl p1.hkl -gradient all -gradfile g.json
is "all leaves them out" sh -c '! grep -q "F\[" work/g.json && grep -q default_f work/g.json'
run $listed -hkl p1.hkl -param default_f=3 -doublefile a
cp work/a given.bin
run $listed -hkl p1.hkl -default_F 3 -doublefile a
is "-param default_f with a list" near 1e-12 work/a given.bin
refuses 2 'not listed' $listed -hkl p1.hkl -gradient 'F[99,0,0]'
refuses 2 'F\[h,k,l\]' $listed -hkl p1.hkl -gradient 'F[1]'
refuses 2 'F\[1,2,x\]' $listed -hkl p1.hkl -param 'F[1,2,x]=3' -floatfile f

# ---- listed sources ----
cat > three.src <<'END'
-10 0 0 1 1e-10
-10 0.02 0 2 1.01e-10
-10 0 0.03 3 0.99e-10
END
inputs="$place/three.src"
three="$scene -oversample 2 -sourcefile three.src -quiet"
run $three -gradient all -gradfile g.json
is "sources are among all" grep -q '"name": "source_wavelength\[2\]"' work/g.json
is "and no common wavelength" sh -c '! grep -q "\"wavelength\"" work/g.json'
weight=$(entry 'source_weight\[1\]' gradient)
run $three -param 'source_weight[1]=2.001' -doublefile d.bin
cp work/d.bin above.bin
run $three -param 'source_weight[1]=1.999' -doublefile d.bin
is "the gradient in a weight, by differences" sh -c "(od -A n -v -t f8 -w8 above.bin \
    | sed 's/^/+ /'; od -A n -v -t f8 -w8 work/d.bin | sed 's/^/- /') | awk '
    { sum += (\$1 == \"+\" ? 1 : -1) * \$2 / 0.002; all += \$2 }
    END { exit !(all > 0 && (sum - $weight)^2 < (1e-7 * all)^2) }'"
refuses 2 'source_weight' $three -gradient 'source_weight[3]'
inputs=$data/golden/p1.hkl
refuses 2 'needs -pdb, -mtz, -hkl or -dump, which give a list of reflections' $scene -hklgradfile g.hkl
inputs=

# ---- what is refused ----
refuses 2 'the nearest is cell' $scene -gradient cel
refuses 2 'no parameter "nothing".*-list_params' $scene -floatfile f -param nothing=1
refuses 2 'origin_z' $scene -floatfile f -param origin_z=1
refuses 2 'a_star_x' $scene -gradient a_star_x
refuses 2 'thickness' $scene -gradient all,thickness
refuses 2 'is a group' $scene -floatfile f -param cell=30
refuses 2 'expected NAME=VALUE' $scene -floatfile f -param distance
refuses 2 'expected NAME=VALUE' $scene -floatfile f -param =3
refuses 2 'expected a number' $scene -floatfile f -param distance=
refuses 2 'expected a number' $scene -floatfile f -param distance=1mm
refuses 2 'expected a number' $scene -floatfile f -param distance=nan
refuses 2 'expected 0.001 to 1e+06' $scene -floatfile f -param cell_a=-3
refuses 2 'missing value' $scene -floatfile f -param -quiet
refuses 2 'cell' $scene -floatfile f -param cell_alpha=179 -param cell_beta=1
refuses 2 'nothing to write' $scene -param distance=90
refuses 2 'needs -gradient' $scene -gradfile g -floatfile f
refuses 2 'needs -gradient' $scene -cotangent weight.bin -floatfile f
refuses 2 'needs -jacobianfile' $scene -jacobian cell_a
refuses 2 'needs -jacobian,' $scene -jacobianfile j -floatfile f
refuses 2 'leave out -images' $scene -osc 1 -phisteps 2 -images 2 -gradient cell -gradfile g
refuses 2 'both write to stdout' $scene -gradient cell -gradfile - -printout
refuses 2 'name a file' $scene -jacobian cell -jacobianfile -
refuses 2 'would overwrite an image' $scene -gradient cell -gradfile f -floatfile f
refuses 2 'two outputs have the same name' $scene -gradient cell -gradfile f -jacobian cell \
    -jacobianfile f
refuses 1 'no directory' $scene -gradient cell -gradfile absent/g -floatfile f
if "$program" -version | grep -q cjson; then
    refuses 2 'both write to stdout' $scene -gradient cell -gradfile - -json -
fi
refuses 2 'absent.bin' $scene -gradient cell -cotangent absent.bin -gradfile g -floatfile f
head -c 4600 /dev/zero > short.bin
head -c 4616 /dev/zero > long.bin
head -c 4608 /dev/zero | tr '\0' '\377' > nan.bin
inputs="$place/short.bin $place/long.bin $place/nan.bin"
refuses 2 'short.bin.*460[08]' $scene -gradient cell -cotangent short.bin -gradfile g -floatfile f
refuses 2 'long.bin.*46[01]' $scene -gradient cell -cotangent long.bin -gradfile g -floatfile f
refuses 2 'nan.bin.*finite' $scene -gradient cell -cotangent nan.bin -gradfile g -floatfile f
refuses 2 'is an input' $scene -gradient cell -cotangent nan.bin -gradfile nan.bin
inputs=
run $scene -compat nanobragg -curved_det -nonoise -nopgm -gradient cell_a -gradfile g
is "nanoBragg's curved detector has no derivative" test "$code" -eq 9
is "which is said" grep -q 'curved detector has no derivative' out
is "and nothing is written" test ! -s listing
is "-explain makes no derivative" sh -c "cd work && '$program' $scene -gradient cell_a \
    -gradfile g -explain > /dev/null && [ ! -e g ]"

# ---- an interrupt leaves nothing ----
rm -rf work
mkdir work
(cd work && exec "$program" $scene -detpixels 400 -pixel 0.3 -oversample 16 -osc 1 -phisteps 200 \
    -threads 1 -quiet -roi 0 140 0 140 -jacobian all -jacobianfile j.bin -floatfile f.bin \
    > ../out 2> ../err) &
child=$!
catching $child
kill -INT $child
wait $child
is "an interrupt while derivatives are made" test $? -eq 130
is "says so" grep -q 'interrupted; no image was finished' err
is "and leaves no file" test -z "$(ls -A work)"
finish
