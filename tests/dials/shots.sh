#!/bin/sh
# shots.sh - what dxtbx reads of shots is what was computed: see shots.py. $NANOBRAG is the
# program, $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials
need_json
"$NANOBRAG" -version | grep -q hdf5 || skip "this build writes no NXmx (no HDF5)"
rm -rf shots
mkdir shots
cd shots
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/shots.py" "$NANOBRAG"
