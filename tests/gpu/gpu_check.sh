#!/bin/sh
# gpu_check.sh FAKE_CUDA - scripts/gpu_check where there is no device: one line that says what is
# missing, exit status 77, and nothing is built. SPDX-License-Identifier: MIT
set -eu
fake=$1
script=$NANOBRAG_SOURCE/scripts/gpu_check
if nvidia-smi -L 2> /dev/null | grep '^GPU '; then
    echo "skipped: this machine has a device"
    exit 77
fi
rm -rf tools
mkdir tools

refuses() # WHY COMMAND...
{
    why=$1
    shift
    status=0
    "$@" > out.txt 2> err.txt || status=$?
    cat out.txt err.txt
    lines=$(cat out.txt err.txt | wc -l)
    echo "status $status, expected 77; lines $lines, expected 1"
    [ "$status" = 77 ] && [ "$lines" = 1 ] && grep -q "^gpu_check: no device: $why" out.txt
}

refuses '' sh "$script"
# a driver's library, without and with a tool that finds nothing
ln -s "$fake" tools/libcuda.so.1
LD_LIBRARY_PATH=$PWD/tools${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
command -v nvidia-smi > /dev/null || refuses 'nvidia-smi is not here' sh "$script"
for answer in 'exit 9' 'echo No devices were found' 'exit 0'; do
    printf '#!/bin/sh\n%s\n' "$answer" > tools/nvidia-smi
    chmod +x tools/nvidia-smi
    refuses 'nvidia-smi lists none' env PATH="$PWD/tools:$PATH" sh "$script"
done
