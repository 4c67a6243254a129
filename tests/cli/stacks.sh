#!/bin/sh
# stacks.sh PROGRAM DATA - threads with a stack of 128 KB, which is musl's default, and a main
# thread of 256 KB are enough for every call. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
if grep -a -q -e __asan_init -e __tsan_init "$program"; then
    echo "# skipped: sanitizers need larger stacks"
    exit 77
fi
# shellcheck disable=SC3045 # dash and bash have it
ulimit -s 256 || exit 77
export OMP_STACKSIZE=128k
still="-cell 50 60 70 -default_F 100 -N 8 -gauss_xtal -mosaic 0.4 -mosaic_domains 6 -fluence 1e28
    -detpixels 64 -pixel 1.2 -oversample 2 -water 0.02 -misset 10 20 30 -quiet -threads 2"
"$program" $still -seed 1 -noisefile n.img > out 2> err
printf '1 0 0 10\n0 1 0 20\n' > a.hkl
thick="-detector_thick 300 -detector_abs 500 -detector_thicksteps 3"
fits=
"$program" -version | grep -q lapack && fits=yes

# fits_in ARGUMENTS...: the run ends by itself, as a fit of few passes does with 1
fits_in()
{
    "$program" $still "$@" > out 2> err
    code=$?
    if [ $code -eq 1 ] && grep -q 'has not converged' err; then code=0; fi
    report $code "fits: $*"
    [ $code -eq 0 ] || sed 's/^/# /' err
}
for precision in double float; do
    for strategy in lanes spots; do
        for interpolate in -nointerpolate -interpolate; do
            x="-precision $precision -strategy $strategy $interpolate"
            fits_in $x -floatfile f
            fits_in $x -gradient all
            fits_in $x -hkl a.hkl -gradient all -hklgradfile h.json
            fits_in $x -jacobian all -jacobianfile j
            fits_in $x $thick -gradient all
            fits_in $x $thick -jacobian all -jacobianfile j
            [ -z "$fits" ] || fits_in $x -data n.img -fit misset,scale,mosaic -fit_passes 2
        done
        [ -z "$fits" ] || fits_in $x -data n.img -fit misset,scale,mosaic -fit_passes 2 \
            -boxes auto:10:8 -planes
    done
done
fits_in -strategy reference -precision double -gradient all
fits_in -strategy reference -precision double -jacobian all -jacobianfile j
fits_in -gradcheck scale,misset_x
fits_in -noisefile n -pngfile p.png -pgmfile p.pgm -imagefile c.cbf -psf gauss -psf_fwhm 1
fits_in -gradient all -psf gauss -psf_fwhm 1
fits_in -hkl a.hkl -dump a.dump -floatfile f
fits_in -imagefile s.nxs -images 2 -osc 1
if "$program" -version | grep -q gemmi; then
    model="-pdb $data/structures/1yjp.pdb -dmin 3"
    still="-N 8 -detpixels 64 -pixel 1.2 -oversample 2 -quiet -threads 2"
    fits_in $model -floatfile f
    fits_in $model -gradient all -atomgradfile a.json
fi
finish
