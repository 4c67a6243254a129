#!/bin/sh
# geometry.sh - other programs, and -img, read the true geometry from our headers: see
# geometry.py. $NANOBRAG is the program, $NANOBRAG_SOURCE the source tree.
# SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials dials.import
need_json
rm -rf geometry
mkdir geometry
cd geometry
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/geometry.py" "$NANOBRAG"
