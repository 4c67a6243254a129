#!/bin/sh
# golden.sh PROGRAM DATA - every golden case, compiled and not, in double and in float: the
# image and the gradient by all parameters have the same bits.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 > /dev/null || { echo "skipped: no python3 to read the index"; exit 77; }

# a line per case: name | input files | arguments
python3 -c '
import json, sys
for case in json.load(open(sys.argv[1]))["cases"]:
    print(case["name"], " ".join(case["files"]), " ".join(case["args"]), sep="|")
' "$data/golden/index.json" > cases || exit 1

# made FOLDER ARGUMENTS...: the program ends well; its image and gradient go to the folder
made()
{
    folder=$1
    shift
    run -compat nanobragg "$@" -noprogress -doublefile image < /dev/null
    mkdir -p "$folder"
    mv work/image "$folder" && { [ -z "$gradient" ] || mv work/gradient "$folder"; } \
        && [ $code -eq 0 ]
}

count=0
while IFS='|' read -r name files arguments; do
    inputs=
    for file in $files; do inputs="$inputs $data/golden/$file"; done
    gradient='-gradient all -gradfile gradient'
    # nanoBragg's curved detector has no derivatives
    case $arguments in *-curved_det*) gradient= ;; esac
    for precision in double float; do
        rm -rf on off
        arguments_of="$arguments -precision $precision $gradient"
        is "$name in $precision, compiled" made on $arguments_of
        [ $code -eq 0 ] || sed 's/^/# /' err
        is "uncompiled" made off $arguments_of -nocompile
        is "has the same bits" diff -r on off
    done
    count=$((count + 1))
done < cases
is "all of them were there" test $count -ge 40
finish
