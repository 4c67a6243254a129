#!/bin/sh
# spectrum.sh PROGRAM DATA - -spectrum and -spectrum_bins: photon energies as sources.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
wide="$scene -xds"

# number NAME: the last value of a number in -json
number()
{
    sed -n "s/.*\"$1\":[[:space:]]*\\([-0-9.e+]*\\).*/\\1/p" work/j | head -n 1
}
is_near() # WHAT FOUND EXPECTED ALLOWED
{
    is "$1: $2 expected $3 within $4" awk "BEGIN { d = $2 - $3; exit !(d * d <= $4 * $4) }"
}

# two energies, of which one counts three times the other; the same as -sourcefile
printf '# eV weight\n9000 1\n9100 3\n' > two.eV
awk 'BEGIN { printf "0 0 -10 1 %.17ge-10\n0 0 -10 3 %.17ge-10\n", 12398.42 / 9000, 12398.42 / 9100 }' \
    > two.src
inputs="two.eV two.src"
run $wide -spectrum two.eV -doublefile a.bin
is "a spectrum" test $code -eq 0
cp work/a.bin .
mean=$(awk 'BEGIN { printf "%.15g", (12398.42 / 9000 + 3 * 12398.42 / 9100) / 4 }')
run $wide -lambda "$mean" -sourcefile two.src -doublefile a.bin
is "is that of its sources" sh -c 'od -A n -t f8 -w8 -v a.bin > a; od -A n -t f8 -w8 -v work/a.bin > b
    paste a b | awk "{ d = \$1 - \$2; if (d < 0) d = -d; if (d > most) most = d
                       if (\$1 > peak) peak = \$1 }
        END { print \"# off by \" most / peak \" of the peak, allowed 1e-12\"
              exit !(peak > 0 && most <= 1e-12 * peak) }"'
if "$program" -version | grep -q cjson; then
    run $wide -spectrum two.eV -json j -floatfile f
    is_near "mean wavelength" "$(number wavelength_angstrom)" "$mean" 1e-12
    is "two sources" test "$(number sources)" -eq 2
    is "the file is named" grep -q '"spectrum_file":.*two.eV' work/j
fi

# bins of equal weight, at the mean energy of what they hold; a line may be divided
awk 'BEGIN { for (i = 0; i < 100; i++) print 9000 + i, 1 + i % 7 }' > many.eV
awk 'BEGIN { for (i = 0; i < 10; i++) print 9000 + i, i == 4 ? 91 : 1 }' > heavy.eV
inputs="two.eV many.eV heavy.eV"
bins() # FILE N: energy and weight of the sources, in the full report
{
    run $wide -spectrum "$1" -spectrum_bins "$2" -verbose -floatfile f
    awk '/created a total of/ { on = 1; next } on && NF == 5 { printf "%.6f %s\n", 12398.42e-10 / $5, $4 }
        on && NF != 5 && NF != 0 { on = 0 }' out > lines
}
bins many.eV 10
is "ten bins" test "$(wc -l < lines)" -eq 10
is "of equal weight" test "$(awk '{ print $2 }' lines | sort -u | wc -l)" -eq 1
is "whose mean energy is that of all" awk -v want="$(awk '{ s += $1 * $2; w += $2 } END { printf "%.9f", s / w }' many.eV)" '
    { s += $1 * $2; w += $2 }
    END { d = s / w - want; print "# " s / w " expected " want " within 0.05"; exit !(d * d < 0.0025) }' lines
bins heavy.eV 6
is "bins of one line are one source" test "$(wc -l < lines)" -eq 3
is "that has their weight" awk 'NR == 2 { d = $2 - 400 / 6; ok = d * d < 1e-6 && $1 > 9003.99 && $1 < 9004.01 } END { exit !ok }' lines
bins two.eV 5
is "more bins than energies change nothing" test "$(wc -l < lines)" -eq 2
bins many.eV 1
is "one bin is one wavelength" test "$(wc -l < lines)" -eq 1

# what it replaces
run $wide -spectrum two.eV -dispersion 1 -dispsteps 3 -floatfile f
is "-dispersion has no effect" grep -q -e '-dispersion has no effect beside -spectrum' err
printf '9 1\n9.1 3\n' > kev.eV
inputs="kev.eV"
run $wide -lambda 1 -spectrum kev.eV -explain
is "keV are suspected" grep -q 'warning: .*in eV.*if they are in keV' err

printf '9000\n' > one.eV
printf '9000 1\n0 2\n' > zero.eV
printf '9000 1\n9010 -2\n' > negative.eV
printf '9000 0\n9010 0\n' > dark.eV
printf '9000 1\n9010 x\n' > word.eV
: > empty.eV
inputs="one.eV zero.eV negative.eV dark.eV word.eV empty.eV two.src two.eV"
refuses 2 'absent.eV' $wide -spectrum absent.eV -floatfile f
refuses 2 'one.eV, line 1: expected two numbers, the photon energy in eV and its weight' \
    $wide -spectrum one.eV -floatfile f
refuses 2 'zero.eV, line 2: the photon energy is 0 eV, expected more than 0' \
    $wide -spectrum zero.eV -floatfile f
refuses 2 'negative.eV, line 2: the weight is -2, expected 0 or more' \
    $wide -spectrum negative.eV -floatfile f
refuses 2 'dark.eV: the weights add up to 0, expected more than 0' \
    $wide -spectrum dark.eV -floatfile f
refuses 2 "word.eV, line 2: 'x' is no finite number" $wide -spectrum word.eV -floatfile f
refuses 2 'empty.eV: the file has no rows' $wide -spectrum empty.eV -floatfile f
refuses 2 'both state the sources' $wide -spectrum two.eV -sourcefile two.src -floatfile f
refuses 2 '-spectrum_bins needs -spectrum' $wide -spectrum_bins 3 -floatfile f
refuses 2 'must be greater than 0' $wide -spectrum two.eV -spectrum_bins 0 -floatfile f
refuses 2 'is an input' $wide -spectrum two.eV -floatfile two.eV
finish
