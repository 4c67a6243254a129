# need_dials.sh PROGRAM... - sourced by the tests of this directory: sets $python to the
# interpreter that has DIALS, or ends the test as skipped.
# SPDX-License-Identifier: MIT
skip() {
    echo "skipped: $1"
    exit 77
}

need_dials() {
    for need in "$@"; do
        command -v "$need" > /dev/null 2>&1 || skip "DIALS is absent ($need is not found)"
    done
    for python in dials.python python3 /usr/bin/python3; do
        "$python" -c 'import dials, dxtbx' > /dev/null 2>&1 && return 0
    done
    skip "DIALS is absent (no python that can import dials and dxtbx)"
}
