#!/bin/sh
# images.sh READ_IMAGE - images of other programs, read by the library and by dxtbx: see
# images.py. $NANOBRAG_SOURCE is the source tree. SPDX-License-Identifier: MIT
set -eu
# shellcheck source=tests/dials/need_dials.sh
. "$NANOBRAG_SOURCE/tests/dials/need_dials.sh"
need_dials
rm -rf images
mkdir images
cd images
# shellcheck disable=SC2154 # need_dials sets $python
"$python" "$NANOBRAG_SOURCE/tests/dials/images.py" "$1"
