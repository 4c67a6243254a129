#!/bin/sh
# gpu_check_dry.sh FAKE_CUDA - scripts/gpu_check from end to end with stand-ins for the
# device, its tools, CMake and what is built: the order of the steps, what each is given, the
# rates in the table, and that a step which hangs takes nothing from those after it.
# SPDX-License-Identifier: MIT
set -eu
fake=$1
script=$NANOBRAG_SOURCE/scripts/gpu_check
rm -rf tools made home
mkdir tools
ln -s "$fake" tools/libcuda.so.1

tool() # NAME: a program whose text is on stdin
{
    { echo '#!/bin/sh'; cat; } > "tools/$1"
    chmod +x "tools/$1"
}

tool nvidia-smi << 'END'
case "$*" in
-L) echo 'GPU 0: stand-in' ;;
*query-gpu=name*) echo 'stand-in H200' ;;
*compute_cap*) echo 9.0 ;;
*) echo 580.1 ;;
esac
END
tool nvcc << 'END'
case $1 in
--list-gpu-arch) echo compute_90 ;;
*) echo 'Cuda compilation tools, release 13.0, V13.0' ;;
esac
END
# what it "builds" are the stand-ins below
tool cmake << 'END'
echo "cmake $CUDA_DEVICE_ORDER $*" >> "$CALLS"
[ "$1" = --build ] || exit 0
mkdir -p "$2/bin"
for program in test_gpu test_gpu_large test_gpu_edges test_gpu_gradients test_gpu_hot test_gpu_panels; do cp "$TOOLS/passes" "$2/bin/$program"; done
cp "$TOOLS/bench" "$2/bin/nanobrag_bench_gpu"
END
tool ctest << 'END'
echo "ctest $*" >> "$CALLS"
echo "${TESTS:-100% tests passed, 0 tests failed out of 3}"
END
tool passes << 'END'
echo "${0##*/} $*" >> "$CALLS"
END
tool compute-sanitizer << 'END'
echo "sanitizer $CUDA_DEVICE_ORDER $*" >> "$CALLS"
echo "========= ${SAYS:-ERROR SUMMARY: 0 errors}"
exit "${ENDS:-0}"
END
# the formats are those of bench/gpu.c
tool bench << 'END'
echo "bench $NANOBRAG_CACHE_DIR $*" >> "$CALLS"
[ -z "${HANGS-}" ] || exec sleep 1000
image='%c %-6s %11s %8.1e %8s %8s %8s %8s %8.1e %7.1f %7.0e%s\n'
printf "$image" M double '1024 x 1024' 1e9 '1.2 s' - '14 ms' '12 ms' 8.7e10 100 1e-14 ''
printf "$image" M float '1024 x 1024' 1e9 '1.2 s' - '7 ms' '5.6 ms' 1.9e11 200 1e-6 ''
printf "$image" G float '2048 x 2048' 8e9 '9 s' '1 s' '40 ms' '30 ms' 2.8e11 200 1e-4 ' WRONG'
printf "$image" S float '64 x 64' 4096 '30 us' - '900 us' '88 us' 4.7e7 1 1e-6 ''
printf '\n%-8s %10s %10s %10s %12s %10s %10s %6s\n' case image loss gradient 'x evals/s' noise \
    'of batch' lost
calls='%c %-6s %7s ms %7s ms %7s ms %12.2e %7s ms %10s %6d\n'
printf "$calls" M double 12 11 40 2.5e10 1 - 0
printf "$calls" M float 5.6 5 17 6.1e10 0.42 - 0
END

CALLS=$PWD/calls.txt TOOLS=$PWD/tools
export CALLS TOOLS
check() # WHAT COMMAND...
{
    what=$1
    shift
    if "$@"; then echo "ok: $what"; else
        echo "not ok: $what"
        cat out.txt calls.txt
        exit 1
    fi
}
run() # STATUS [NAME=VALUE...]: what it prints in out.txt, what it calls in calls.txt
{
    expected=$1
    shift
    : > calls.txt
    rm -rf made
    status=0
    env PATH="$PWD/tools:$PATH" LD_LIBRARY_PATH="$PWD/tools" GPU_CHECK_FOLDER="$PWD/made" \
        COMMIT=none "$@" sh "$script" > out.txt 2>&1 || status=$?
    check "$*: status $status, expected $expected" [ "$status" = "$expected" ]
}
says() { grep -q -- "$1" out.txt; } # a line of the report
calls() { grep -q -- "$1" calls.txt; }
before() # A B: the first call of A is before that of B
{
    [ "$(grep -n -- "$1" calls.txt | head -n 1 | cut -d: -f1)" -lt \
        "$(grep -n -- "$2" calls.txt | head -n 1 | cut -d: -f1)" ]
}

run 0
check 'the order of devices' calls '^cmake PCI_BUS_ID -S .*-DNANOBRAG_CUDA_ARCHITECTURES=90'
check 'the programs, that of speed first' calls '^cmake .*--target nanobrag_bench_gpu test_gpu test_'
check 'tests before speed' before '^ctest' '^bench'
check 'speed before the sanitizers' before '^bench .*-hot' '^sanitizer'
check 'kernels are kept' calls "^bench $PWD/made/cache"
check 'one context first' calls 'memcheck .*--leak-check full .*bin/test_gpu in_turn regions'
check 'eight tools' [ "$(grep -c '^sanitizer PCI_BUS_ID' calls.txt)" = 8 ]
check 'panels too' calls 'racecheck .*bin/test_gpu_panels images derivatives'
check 'the table' says '^bench of hot kernels  *passed'
check 'square' says '^square, float (M)  *1.9e+11  *1.6e11 to 2.0e11'
check 'double' says '^square, double (M)  *8.7e+10'
check 'gauss, of a row that is wrong' says '^gauss, float (G)  *2.8e+11'
check 'gradient' says '^value and gradient of 22, float (M)  *6.10e+10  *5.8e10'
check 'noise' says '^noise, of the time of an image, float (M)  *7.5 %  *within 10 %'
check 'fixed cost' says '^time of a small image, float (S)  *88 us  *75 us to 100 us'
check 'the report' cmp -s made/report.txt out.txt

run 1 HANGS=1 GPU_CHECK_SECONDS=8
check 'what hangs is stopped' says '^bench  *FAILED .*stopped after'
check 'and the rest is run' says '^racecheck, test_gpu_gradients  *passed'
check 'without rates' says '^square, float (M)  *not run'
run 1 TESTS='1/3 Test: test_gpu.scenes ***Skipped'
check 'a skipped test fails' says '^tests  *FAILED .*a test was skipped'
check 'and says why' calls '^test_gpu in_turn'
run 0 SAYS='Error: Device not supported' ENDS=9
check 'a tool that cannot' says '^memcheck, test_gpu  *skipped'
run 1 SAYS='Invalid __global__ read' ENDS=9
check 'a tool that finds' says '^memcheck, test_gpu  *FAILED .*exit status 9'

# a toolkit that is not on the PATH, and none
plain=/usr/bin:/bin
if ! (PATH=$plain && command -v nvcc compute-sanitizer) > /dev/null; then
    mkdir -p home/bin
    mv tools/nvcc tools/compute-sanitizer home/bin
    run 0 PATH="$PWD/tools:$plain" CUDA_HOME="$PWD/home"
    check 'its compiler' calls '^cmake PCI_BUS_ID -S .*-DNANOBRAG_CUDA_ARCHITECTURES=90'
    check 'its sanitizer' says '^racecheck, test_gpu_gradients  *passed'
    run 0 PATH="$PWD/tools:$plain" CUDA_HOME="$PWD/nowhere"
    check 'no compiler' says "^nvcc is neither on the PATH nor in $PWD/nowhere/bin"
    check 'no sanitizer' says '^sanitizer  *skipped .*compute-sanitizer is not here'
fi
