#!/bin/sh
# updated.sh - -exptout of a fit against dxtbx: see updated.py. $NANOBRAG is the program,
# $NANOBRAG_SOURCE the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
unset NANOBRAG_COMPAT
need_dials
need_json
rm -rf updated
mkdir updated
cd updated
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/updated.py" "$NANOBRAG"
