#!/bin/sh
# panel_moved.sh - a panel that stands elsewhere: see panel_moved.py. $NANOBRAG is the program,
# $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials
need_json
for need in lapack hdf5; do
    "$NANOBRAG" -version | grep -q $need || skip "this build has no $need"
done
rm -rf panel_moved
mkdir panel_moved
cd panel_moved
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/panel_moved.py" "$NANOBRAG"
