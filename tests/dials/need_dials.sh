# need_dials.sh - sourced by the tests of this directory. SPDX-License-Identifier: MIT
export PYTHONDONTWRITEBYTECODE=1 # the source tree stays as it is

skip() {
    echo "skipped: $1"
    exit 77
}

# need_dials PROGRAM...: sets $python to the interpreter that has DIALS, or skips the test
need_dials() {
    for need in "$@"; do
        command -v "$need" > /dev/null 2>&1 || skip "DIALS is absent ($need is not found)"
    done
    for python in dials.python python3 /usr/bin/python3; do
        "$python" -c 'import dials, dxtbx' > /dev/null 2>&1 && return 0
    done
    skip "DIALS is absent (no python that can import dials and dxtbx)"
}

need_json() {
    said=$("$NANOBRAG" -cell 50 -default_F 1 -N 3 -detpixels 8 -json probe.json 2>&1) &&
        return 0
    case $said in
        *"lacks cJSON"*) skip "this build has no -json (no cJSON)" ;;
        *) echo "$said" && exit 1 ;;
    esac
}
