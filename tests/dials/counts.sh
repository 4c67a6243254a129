#!/bin/sh
# counts.sh - photons and masks of a fit against dxtbx: see counts.py. $NANOBRAG is the program,
# $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials
rm -rf counts
mkdir counts
cd counts
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/counts.py" "$NANOBRAG"
