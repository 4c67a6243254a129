# frames.sh - sourced by the tests of this folder: sets $frames to the measured frames of
# L-cysteine in the folder NANOBRAG_MEASURED_DATA, or skips the test.
# SPDX-License-Identifier: MIT
frames=${NANOBRAG_MEASURED_DATA:-}/l_cysteine
if [ ! -f "$frames/static_01.expt" ]; then
    echo "ok - # skip set NANOBRAG_MEASURED_DATA to the folder of the measured images"
    exit 77
fi
frames=$(cd "$frames" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cli/lib.sh"
