#!/bin/sh
# experiment.sh PROGRAM DATA - -expt, -xparm and -truth: what options do beside them, the
# files, and every bad input. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
render="-default_F 100 -N 5 -gauss_xtal -fluence 1e28 -oversample 1 -phisteps 2"
geometry="-cell 50 60 70 90 100 90 -misset 10 20 30 -detpixels_f 40 -detpixels_s 37 -pixel 2
    -distance 90 -detector_roty 4 -twotheta 8 -lambda 1.1 -polar 0.9 -osc 0.5 -phi 12"

# ---- XPARM.XDS, which needs no library ----
cp "$data/XPARM.XDS" .
# the matrix of the same crystal, times a wavelength
matrix()
{
    awk -v l="$1" 'BEGIN { printf "%.17g 0 0\n0 %.17g 0\n0 0 %.17g\n", l/30, l/40, l/50 }'
}
matrix 0.98 > xds.mat
matrix 1.1 > long.mat
xds="-xds -mat ../xds.mat -lambda 0.98 -detpixels_f 30 -detpixels_s 24 -pixel 1.5
    -close_distance 70 -ORGX 15.25 -ORGY 12.75 -phi 12.5 -osc 0.25"
accepts 'crystal    30 40 50 A' -xparm ../XPARM.XDS $render -floatfile f.bin
alike "-xparm is the same as its numbers" "-xparm ../XPARM.XDS $render" "$xds $render"
alike "an option before -xparm wins" "-distance 85 -xparm ../XPARM.XDS $render" \
    "$xds $render -close_distance 85"
alike "and one behind it" "-xparm ../XPARM.XDS $render -osc 0.75 -lambda 1.1" \
    "$xds $render -osc 0.75 -lambda 1.1 -mat ../long.mat"
alike "-misset turns its crystal" "-xparm ../XPARM.XDS $render -misset 1 2 3" \
    "$xds $render -misset 1 2 3"
alike "-mat replaces its crystal" "-xparm ../XPARM.XDS -mat ../long.mat $render" \
    "$xds $render -mat ../long.mat"
alike "-cell sets its lengths" "-xparm ../XPARM.XDS -cell 31 41 51 $render" \
    "$xds $render -cell 31 41 51"
alike "a vector keeps its frame" "-xparm ../XPARM.XDS -spindle_axis 0 1 0 $render" \
    "$xds $render -spindle_axis 0 1 0"
alike "-Xbeam places its detector" "-xparm ../XPARM.XDS -Xbeam 20 -Ybeam 19 $render" \
    "-xds -mat ../xds.mat -lambda 0.98 -detpixels_f 30 -detpixels_s 24 -pixel 1.5
    -close_distance 70 -Xbeam 20 -Ybeam 19 -phi 12.5 -osc 0.25 $render"
refuses 2 'No such file' -xparm missing $render -floatfile f
refuses 2 'not an XPARM.XDS' -xparm ../xds.mat $render -floatfile f
sed 8q XPARM.XDS > cut.XDS
refuses 2 'cut.XDS, line 8: the file ends here, expected ORGX' -xparm ../cut.XDS $render -floatfile f
sed '9s/70.000000/seventy/' XPARM.XDS > word
refuses 2 "word, line 9: 'seventy' is no finite number" -xparm ../word $render -floatfile f
refuses 2 'is an input' -xparm ../XPARM.XDS $render -floatfile ../XPARM.XDS

if ! "$program" -version | grep -q cjson; then
    refuses 2 'no cJSON.*build again' -expt ../XPARM.XDS $render -floatfile f
    refuses 2 'lacks cJSON' $scene -truth t.expt -floatfile f
    echo "ok - # skip the rest: this build has no cJSON"
    finish
fi

# ---- -truth, and -expt of it ----
accepts 'files .*t.expt' $geometry $render -images 3 -doublefile f_1.bin -truth t.expt
cp work/t.expt work/f_1.bin work/f_3.bin .
is "it names no images where none are written" sh -c '! grep -q ImageSe t.expt'
run -expt ../t.expt $render -images 3 -doublefile f_1.bin
for i in 1 3; do
    od -A n -v -t f8 -w8 work/f_$i.bin > again
    od -A n -v -t f8 -w8 f_$i.bin | paste - again | awk '
        $1 > peak { peak = $1 } { d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d }
        END { print "# off by " most / peak " of the peak, allowed 1e-9"
            exit !(NR == 40 * 37 && peak > 0 && most <= 1e-9 * peak) }'
    is "-expt of -truth gives image $i again" test $? -eq 0
done
accepts 'note: .*the scan has 3 images .*-images 3 makes all' -expt ../t.expt $render \
    -floatfile f
accepts 'crystal    50 60 70 A' -expt ../t.expt:0 $render -floatfile f.bin
cp t.expt 't.expt:1'
accepts 'crystal    50 60 70 A' -expt ../t.expt:1 $render -floatfile f.bin
rm 't.expt:1'
alike "-distance wins over -expt" "-distance 97 -expt ../t.expt $render" \
    "-expt ../t.expt $render -distance 97"
run $scene -osc 1 -images 4 -seed 1 -intfile a_08.img -truth t.expt
is "the template of -intfile" grep -q '/work/a_##.img"' work/t.expt
is "its numbers" grep -q 'image_range":.*\[8, 11\]' work/t.expt
run $scene -osc 1 -seed 1 -intfile a_08.img -noisefile b7.img -truth t.expt
is "that of -noisefile comes first" grep -q '/work/b#.img"' work/t.expt
run $scene -seed 1 -intfile plain.img -truth t.expt
is "a name without digits is none" sh -c '! grep -q ImageSe work/t.expt'
run $scene -images 2 -osc 0 -intfile s_1.img -truth t.expt
is "stills are experiments of their own" test "$(grep -c '"Experiment"' work/t.expt)" -eq 2
is "with their image" grep -q '/work/s_2.img"' work/t.expt
cp work/t.expt stills.expt
accepts 'note: .*the first of 2 experiments' -expt ../stills.expt -default_F 1 \
    -floatfile f

# ---- a crystal that changes during the scan ----
# A is a matrix of 1/50, 1/80 and 1/100 with e = i^2/5000 at its upper right, i from 0 to 3; the
# image between two scan points has the mean
varying()
{
    awk -v e="$1" -v points="$2" '
        /"real_space_a"/ { printf "\"real_space_a\": [50, %.17g, 0],\n", -4000 * e; next }
        /"real_space_b"/ { print "\"real_space_b\": [0, 80, 0],"; next }
        /"real_space_c"/ {
            print "\"real_space_c\": [0, 0, 100],"
            if (!points) next
            printf "\"A_at_scan_points\": ["
            for (i = 0; i <= 3; i++)
                printf "%s[0.02, %.17g, 0, 0, 0.0125, 0, 0, 0, 0.01]", i ? ", " : "", i * i / 5000
            print "],"
            next
        }
        { print }' t.expt
}
varying 0.003 1 > varying.expt # the static model is that of no image
varying 0.0001 0 > static1.expt
varying 0.0005 0 > static2.expt
varying 0.0013 0 > static3.expt
varying 0.0018 0 > end.expt
run -expt ../varying.expt $render -images 3 -floatfile v_1.bin -truth again.expt
is "it is said what is taken" grep -q 'the crystal changes during the scan (A_at_scan_points): each image takes the value at its middle, up to .* degrees' err
cp work/v_?.bin work/again.expt .
for i in 1 2 3; do
    run -expt ../static$i.expt $render -phi "$(echo "12 + 0.5 * ($i - 1)" | bc)" -floatfile s.bin
    is "image $i has the crystal at its middle" near 2e-6 v_$i.bin work/s.bin
done
is "images differ" sh -c '! cmp -s v_1.bin v_2.bin'
run -expt ../again.expt $render -images 3 -floatfile v_1.bin
is "-truth has the scan points" near 2e-6 v_3.bin work/v_3.bin
run -expt ../varying.expt $render -phi 13 -floatfile s.bin
is "-phi chooses the image" near 2e-6 v_3.bin work/s.bin
printf 'phi0\n13.25\n12.25\n' > shots.txt
render1="-default_F 100 -N 5 -gauss_xtal -fluence 1e28 -oversample 1"
run -expt ../varying.expt $render1 -shots ../shots.txt -floatfile s_1.bin
cp work/s_1.bin shot.bin
run -expt ../static3.expt $render1 -osc 0 -phi 13.25 -floatfile s.bin
is "shots have the crystal of their angle" near 2e-6 shot.bin work/s.bin
run -expt ../varying.expt $render -phi 20 -floatfile s.bin
is "an angle outside is told" grep -q 'an image lies outside the scan of ../varying.expt, 12 to 13.5 degrees; .*nearest end' err
cp work/s.bin outside.bin
run -expt ../end.expt $render -phi 20 -floatfile s.bin
is "and has the end of the scan" near 2e-6 outside.bin work/s.bin
alike "-mat replaces it" "-expt ../varying.expt -mat ../long.mat $render" \
    "-expt ../t.expt -mat ../long.mat $render"
alike "-cell keeps its lengths" "-expt ../varying.expt -cell 51 81 101 90 90 90 $render" \
    "-expt ../static1.expt -cell 51 81 101 90 90 90 $render"
alike "-param counts more" "-expt ../varying.expt -param cell_c=90 $render" \
    "-expt ../static1.expt -param cell_c=90 $render"
run -expt ../static2.expt $render -phi 12.5 -floatfile f.bin
cp work/f.bin data2.bin
run -expt ../varying.expt $render -phi 12.5 -data ../data2.bin -fit scale -param scale=0.7
is "a fit has the crystal of its image" grep -q 'loss 0\.000' out
printf '[{"data": "../data2.bin", "phi0": 12.5}]' > list.json
run -expt ../varying.expt $render -shots ../list.json -fit scale -param scale=0.7
is "and so has each image of a list" grep -q 'loss 0\.000' out
run $geometry $render -phi 13 -intfile ../frame_003.img
run -expt ../varying.expt -img ../frame_003.img $render -floatfile s.bin
is "-img chooses the image by its angle" near 2e-6 v_3.bin work/s.bin
is "and it is said" grep -q 'the run makes image 3 of the 3 in the scan, at the angle in the header of ../frame_003.img' err
run $geometry $render -phi 99 -intfile ../frame_099.img
run -expt ../varying.expt -img ../frame_099.img $render -floatfile s.bin
is "or the first where it lies outside" near 2e-6 v_1.bin work/s.bin
is "which is told" grep -q 'frame_099.img: the header.s angle of 99 degrees lies outside the scan of ../varying.expt, 12 to 13.5' err
run -expt ../varying.expt $render -data ../frame_003.img -fit scale
is "-data has the angle of its header" grep -q 'note: ../frame_003.img begins at 13 degrees, as the header says' err
run -expt ../varying.expt $render -data ../frame_003.img -fit scale -phi 12
is "of another angle it is told" grep -q 'frame_003.img: the header has a start at 13 degrees but the scene has 12 degrees' err
awk '/A_at_scan/ { sub(/, \[0.02[^]]*\]\],/, "],") } { print }' varying.expt > short.expt
refuses 2 'the number of rows in "A_at_scan_points" of the crystal of experiment 0 is 3, expected 4' \
    -expt ../short.expt $render -floatfile f
# images of several widths
sed 's/"oscillation":.*\]/"properties": {"oscillation": [5, 5.5, 6.2]}/' t.expt > wide.expt
accepts 'wide.expt: the images .* have different widths, such as 0.5 and 0.7 degrees; each is' \
    -expt ../wide.expt $render1 -floatfile f.bin
# a scan without a goniometer, and what is no X-ray
sed 's/"goniometer":\t0/"goniometer": null/' t.expt > still.expt
accepts 'warning: .*a scan without a goniometer: the run takes a still and ignores the oscillation' \
    -expt ../still.expt $render1 -floatfile f.bin
is "it does not turn" sh -c '! grep -q "of 0.5 degree" out'
sed 's/"flux":/"probe": "electron", "flux":/' t.expt > electron.expt
refuses 2 'the probe of the beam is electron; only x-ray is supported' \
    -expt ../electron.expt $render -floatfile f

# ---- untrusted rectangles ----
sed 's/"mask":.*\[\],*/"mask": [[3, 2, 10, 5], [38, -4, 99, 1]],/' t.expt > untrusted.expt
flat="-default_F 1e-9 -N 1 -water 5 -nointerpolate -oversample 1 -phisteps 1"
zeros() # FILE COUNT
{
    test "$(od -A n -v -t f4 -w4 "$1" | awk '$1 == 0 { n++ } END { print n + 0 }')" -eq "$2"
}
run -expt ../untrusted.expt $flat -floatfile f.bin -truth again.expt
is "untrusted rectangles are masked" zeros work/f.bin 23
is "which -truth does not say, and says so" grep -q 'again.expt does not have the bad regions of ../untrusted.expt, 23 pixels' err
run -expt ../untrusted.expt $flat -detpixels_f 41 -floatfile f.bin
is "not those of another size" grep -q 'the untrusted rectangles are ignored: they belong to a detector of 40 x 37' err
is "which has none" zeros work/f.bin 0

# ---- panels past 90 degrees of two theta ----
row() # SLOW_AXIS ORIGIN
{
    printf '{"fast_axis": [1, 0, 0], "slow_axis": [%s], "origin": [%s],
        "image_size": [20, 18], "pixel_size": [2, 2]}' "$1" "$2"
}
barrel() # PANELS
{
    printf '{"__id__": "ExperimentList", "experiment": [{"beam": 0, "detector": 0, "crystal": 0}],
        "beam": [{"direction": [0, 0, 1], "wavelength": 0.9}], "detector": [{"panels": [%s]}],
        "crystal": [{"real_space_a": [37, 5, -3], "real_space_b": [-5.9, 44, 1.5],
        "real_space_c": [4.2, -0.9, 52], "space_group_hall_symbol": " P 1"}]}' "$1"
}
ahead=$(row "0, -1, 0" "-20, 18, -120")
aside=$(row "0, 0, -1" "-20, 120, 18") # parallel to the beam
behind=$(row "0, 1, 0" "-20, -18, 120")
barrel "$ahead, $aside, $behind" > barrel.expt
barrel "$aside" > aside.expt
barrel "$behind" > behind.expt
barrel "$ahead, $(row "0, -1, 0" "-20, 18, 120")" > away.expt
run -expt ../barrel.expt $render1 -strategy reference -floatfile f.bin -geomout ../barrel.geom \
    -truth ../barrel_truth.expt
cp work/f.bin barrel.bin
for strategy in lanes spots; do
    run -expt ../barrel.expt $render1 -strategy $strategy -floatfile f.bin
    is "a barrel by $strategy" near 2e-6 barrel.bin work/f.bin
done
run -expt ../barrel_truth.expt $render1 -strategy reference -floatfile f.bin
is "its own -truth" near 2e-6 barrel.bin work/f.bin
is "clen is that of a panel downstream" grep -q '^clen = 0.12' barrel.geom
run -expt ../behind.expt $render1 -floatfile f.bin
is "one that lies upstream is told" grep -q 'the whole detector lies upstream of the crystal' err
run -expt ../aside.expt $render1 -floatfile f.bin
is "a panel parallel to the beam" test "$code" -eq 0
accepts 'at 120 mm along its normal, beam beside the detector' -expt ../aside.expt $render1 -explain
is "it has no beam centre" sh -c '! grep -q -e "inf" -e MOSFLM out'
passes() # pixels of 2 mm jump so often that some differences are too coarse to tell
{
    test "$(grep -c PASS out)" -ge 3 && ! grep -q FAIL out
}
for file in aside behind; do
    run -expt ../$file.expt $render1 -water 3 -gradcheck close_distance,detector_rot,wavelength,misset
    is "derivatives of a detector $file" passes
done
for rows in "18 35" "36 53"; do
    run -expt ../barrel.expt $render1 -water 3 -roi 0 19 $rows \
        -gradcheck detector_rot,wavelength,pixel
    is "derivatives of rows $rows of a barrel" passes
done
refuses 2 'panel 1 lies behind the crystal and faces away from it' -expt ../away.expt $render1 \
    -floatfile f

# ---- -truth beside -imagefile ----
run $scene -osc 1 -images 2 -seed 1 -imagefile a_01.cbf
is "miniCBF has its truth" grep -q '/work/a_##.cbf"' work/a_truth.expt
is "it is said" grep -q 'files .*a_truth.expt' out
run $scene -osc 1 -images 2 -seed 1 -imagefile 01.cbf
is "a name of digits alone" grep -q '/work/##.cbf"' work/truth.expt
run $scene -seed 1 -imagefile shot_1.cbf
is "numbers of others tell truths apart" grep -q '/work/shot_1.cbf"' work/shot_1_truth.expt
no_images() # WHY ARGUMENTS...: the truth is written, names no images, and says so
{
    why=$1
    shift
    run $scene -osc 1 -seed 1 "$@" -truth t.expt
    is "names no images: $why" grep -q "t.expt names no images for DIALS: .*$why" err
    is "so that none is missing" sh -c 'test -s work/t.expt && ! grep -q ImageSe work/t.expt'
}
no_images 'the number 0' -images 3 -imagefile z_0000.cbf
no_images 'too few digits' -images 12 -imagefile g_1.cbf
no_images 'no digits' -imagefile plain.cbf
no_images 'a # in the path' -imagefile 'a#_1.cbf'
run $scene -osc 1 -images 2 -seed 1 -imagefile a_01.cbf -notruth
is "-notruth" test "$(cat listing)" = "$(printf 'a_01.cbf\na_02.cbf')"
run $scene -osc 1 -images 2 -seed 1 -imagefile a_01.cbf -truth other.expt
is "-truth names it" test -s work/other.expt -a ! -e work/a_truth.expt
run $scene -osc 1 -images 2 -seed 1 -imagefile a_01.img
is "SMV has none" test ! -e work/a_truth.expt
if "$program" -version | grep -q hdf5; then
    run $scene -osc 1 -images 2 -seed 1 -imagefile a.nxs
    is "NXmx has its truth" grep -q '/work/a.nxs"' work/a_truth.expt
    is "its frames" grep -q 'single_file_indices":.*\[0, 1\]' work/a_truth.expt
    is "its trusted range" grep -q 'trusted_range":.*\[0, 2147483646\]' work/a_truth.expt
    run $scene -nonoise -imagefile a.nxs
    is "photons have no overload" grep -q 'trusted_range":.*\[-1e+30, 1e+30\]' work/a_truth.expt
    run $scene -osc 1 -images 2 -seed 1 -imagefile 'a_###.nxs'
    is "### is the number of the file" grep -q '/work/a_001.nxs"' work/a_001_truth.expt
    is "which is there" test -s work/a_001.nxs
fi

# ---- the sensor ----
deep="-detector_thick 450 -detector_abs 179.8" # of silicon
run $geometry $render $deep -floatfile f.bin -truth ../plain.expt
sed 's/"material":\t""/"material":\t"Si"/' plain.expt > si.expt
is "a material that is not given has no name" test "$(grep -c '"Si"' plain.expt)" -eq 0
alike "the sensor of -expt" "$geometry $render $deep" "-expt ../si.expt $render"
# silicon from 10 to 15 keV: a straight line of the logarithms of energy and NIST's numbers
depth=$(awk 'BEGIN { print 179.8*exp(log(0.9/1.1)*log(10.34/33.89)/log(1.5)) }')
alike "its attenuation follows the wavelength" "-expt ../plain.expt $render -lambda 0.9
    -detector_abs $depth" "-expt ../si.expt $render -lambda 0.9"
alike "with the energy" "-expt ../si.expt $render -lambda 0.9" \
    "-expt ../si.expt $render -energy 13776.022222"
accepts 'note: the attenuation depth of Si is 179.8 um at 1.1 A' -expt ../si.expt $render -lambda 0.9 -floatfile f
alike "-detector_abs counts as it stands" "-expt ../plain.expt $render -detector_abs 200" \
    "-expt ../si.expt $render -lambda 1.1 -detector_abs 200"
accepts 'warning: .*kept at 179.8 um, the value at 1.1 A .*material is not Si, CdTe or GaAs' \
    -expt ../plain.expt $render -lambda 0.9 -floatfile f
run -expt ../si.expt $render -lambda 1.1 -floatfile f
is "nothing is said of what does not change" sh -c '! grep -q 1/e err'
bare="-default_F 100 -N 5 -gauss_xtal -fluence 1e28 -oversample 1"
printf 'wavelength\n1.1\n0.9\n' > waves
run -expt ../si.expt $bare -shots ../waves -doublefile f_1.bin
cp work/f_2.bin shot.bin
run -expt ../si.expt $bare -osc 0 -lambda 0.9 -doublefile f_1.bin
is "in shots of other wavelengths, too" test "$(cksum < shot.bin)" = "$(cksum < work/f_1.bin)"
run -expt ../si.expt $render -detector_thicksteps 3 -floatfile f
is "-detector_thicksteps has an effect" sh -c '! grep -q "no effect" err'
accepts 'layers  *3, the first 75 um deep, 150 um apart, at their middles' -expt ../si.expt $render \
    -detector_thicksteps 3 -explain
accepts 'layers  *1, the first .* at the mean depth of capture' -expt ../si.expt $render -explain
accepts 'sensor  *600 um thick; 1/e of the photons are left at 179.8 um' -expt ../si.expt $render -detector_thick 600 \
    -explain
if "$program" -version | grep -q hdf5; then
    run -expt ../si.expt $render -lambda 0.6 -seed 1 -imagefile s.nxs -truth s.expt
    is "NXmx has its name" grep -a -q 'Si' work/s.nxs
    is "and no other" sh -c '! grep -a -q -e GaAs -e CdTe work/s.nxs'
    is "nor does dxtbx take it for another" sh -c '! grep -q absorb err'
    run -expt ../si.expt $bare -shots ../waves -seed 1 -imagefile shots.nxs
    is "one file has shots of two wavelengths" test -s work/shots.nxs
fi

# ---- with a model ----
if "$program" -version | grep -q gemmi; then
    pdb=$data/structures/1yjp.pdb
    view="-N 4 -gauss_xtal -detpixels 32 -pixel 2 -distance 60 -lambda 1.2 -oversample 1"
    run -pdb "$pdb" $view -misset 1 2 3 -floatfile f.bin -truth t.expt
    cp work/t.expt yjp.expt
    cp work/f.bin yjp.bin
    is "the Hall symbol of its group" grep -q '"P 2yb"' yjp.expt
    run -expt ../yjp.expt -pdb "$pdb" -N 4 -gauss_xtal -oversample 1 -floatfile f.bin \
        -fluence 125932015286227086360700780544 -truth again.expt
    is "-expt gives the orientation, -pdb the factors" near 2e-6 yjp.bin work/f.bin
    is "and the group" grep -q '"P 2yb"' work/again.expt
    # the cell of the experiment is the one that is used
    sed 's/"real_space_b":\t\[.*\]/"real_space_b": [0, 4.9, 0]/' yjp.expt > other.expt
    refuses 2 'more than 2 % from the cell .* of the experiment; .*dials.reindex' \
        -expt ../other.expt -pdb "$pdb" $view -floatfile f
    run -expt ../yjp.expt -default_F 1 $view -fmtz f.mtz -floatfile f
    is "-fmtz needs a list" test $code -eq 2
    accepts 'crystal    21.9 4.87 23.5 A' -expt ../yjp.expt -cell 21.9 4.87 23.5 90 107 90 \
        -default_F 1 $view -floatfile f
fi

# ---- bad input ----
refuses 2 '-expt and -xparm exclude each other: both state' -expt ../t.expt -xparm ../XPARM.XDS $render -floatfile f
refuses 2 'No such file' -expt missing.expt $render -floatfile f
refuses 2 'No such file' -expt missing.expt:3 $render -floatfile f
refuses 2 'no experiment 7; the file holds 1' -expt ../t.expt:7 $render -floatfile f
refuses 2 'line 1: the text is not JSON' -expt ../XPARM.XDS $render -floatfile f
printf '{"__id__": "DataBlock"}' > block.json
refuses 2 'not a list of experiments' -expt ../block.json $render -floatfile f
head -c 900 t.expt > cut.expt
refuses 2 'cut.expt, line [0-9]*: the text is not JSON' -expt ../cut.expt $render -floatfile f
sed 's/"wavelength":.*,/"wavelength": NaN,/' t.expt > nan.expt
refuses 2 '"wavelength" of the beam of experiment 0' -expt ../nan.expt $render -floatfile f
sed 's/"crystal":\t0/"crystal": null/' t.expt > bare.expt
refuses 2 'no unit cell: give -cell.*-expt' -expt ../bare.expt $render -floatfile f
accepts 'crystal    40 40 40 A' -expt ../bare.expt -cell 40 $render -floatfile f
sed 's/"panels":\t\[{/"panels": [{}, {/' t.expt > panels.expt
refuses 2 '"image_size" of the panel of experiment 0' -expt ../panels.expt $render -floatfile f
# several panels in groups
cp "$data/geometries/agipd.geom" .
run -geom ../agipd.geom -misset 10 20 30 -cell 50 60 70 90 100 90 -osc 0.5 $render -floatfile f \
    -truth ../quads.expt
sed '0,/"mask":.*\[\]/s//"mask": [[1, 1, 3, 4]]/' quads.expt > masked_quads.expt
run -expt ../masked_quads.expt $flat -floatfile f.bin
cp work/f.bin masked.bin
run -expt ../quads.expt $flat -floatfile f.bin
is "those of panels" test "$(cmp -l masked.bin work/f.bin | awk '{ print int(($1 - 1) / 4) }' | uniq | wc -l)" -eq 6
# the mask of the geometry file is none of the experiment
sed '/^bad/d; /no_index/d; /mask_edge/d' agipd.geom > lit.geom
alike "panels of an experiment" \
    "-geom ../lit.geom -misset 10 20 30 -cell 50 60 70 90 100 90 -osc 0.5 $render" \
    "-expt ../quads.expt $render"
alike "in their own frame under every convention" \
    "-expt ../quads.expt $render" "-expt ../quads.expt -mosflm $render"
accepts '8 panels' -expt ../quads.expt $render -explain
refuses 2 'the panels of -expt and -distance exclude each other: both state the detector' \
    -expt ../quads.expt -distance 90 $render -floatfile f
refuses 2 'the panels of -expt and -pixel exclude each other: both state the detector' \
    -expt ../quads.expt -pixel 1 $render -floatfile f
refuses 2 '-geom and -expt exclude each other' -geom ../agipd.geom -expt ../quads.expt \
    $render -floatfile f
refuses 2 "t.expt:-1: '-1' is not the number of an experiment; give a whole number from 0 on" \
    -expt ../t.expt:-1 $render -floatfile f
refuses 2 "'x' is not the number" -expt ../t.expt:x $render -floatfile f
refuses 2 "'123456789' is not the number" -expt ../t.expt:123456789 $render -floatfile f
refuses 2 'missing.expt:-1: .*No such file' -expt missing.expt:-1 $render -floatfile f
refuses 2 'is an input' -expt ../t.expt $render -floatfile f -truth ../t.expt
cp t.expt x_truth.expt
refuses 2 'x_truth.expt is an input, but -imagefile .*give -truth another name, or -notruth' \
    -expt ../x_truth.expt $render -seed 1 -imagefile ../x_1.cbf -images 1
refuses 2 'name a file' $scene -truth - -floatfile f
refuses 2 'would overwrite an image' $scene -truth f -floatfile f
refuses 2 'two outputs have the same name' $scene -truth f -floatfile g -json f
refuses 1 'there is no directory none' $scene -truth none/t.expt -floatfile f
refuses 2 'the detector is curved' $scene -curved_det -truth t.expt -floatfile f
refuses 2 'not at right angles' $scene -fdet_vector 0 0.1 1 -truth t.expt -floatfile f
accepts 'warning: -truth has no effect: -notruth' $scene -truth t.expt -notruth -floatfile f
finish
