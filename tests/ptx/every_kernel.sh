#!/bin/sh
# every_kernel.sh BIN - runs test_gpu_kernels and, for images, some cases of test_gpu on the
# interpreter, and checks that every kernel of the build and of NVRTC was executed, in double
# and, where a shape has it, in float. SPDX-License-Identifier: MIT
set -u
bin=$1
rm -f stats.txt
export PTX_STATS=$PWD/stats.txt
"$bin/test_gpu_kernels" || exit 1
"$bin/test_gpu" scenes counts || exit 1
"$bin/test_gpu_gradients" values || exit 1

missing=0
want() # KERNEL PRECISION...
{
    kernel=$1
    shift
    for precision; do
        grep -q "^ptx: $kernel ([a-z0-9_]*, $precision)" stats.txt && continue
        echo "not executed: $kernel in $precision"
        missing=$((missing + 1))
    done
}
for shape in SQUARE ROUND GAUSS TOPHAT; do
    # the edge of a top hat leaves float no room
    both='double float'
    [ $shape != TOPHAT ] || both=double
    for lookup in CONSTANT NEAREST TRICUBIC; do
        for class in FRAME TURNED FEW; do
            # shellcheck disable=SC2086 # two words
            want jacobian_${shape}_${lookup}_$class $both
        done
        [ $shape = TOPHAT ] || want jacobian_${shape}_${lookup}_MANY float
        # shellcheck disable=SC2086
        want image_${shape}_$lookup $both
        # shellcheck disable=SC2086
        [ $lookup = CONSTANT ] || want f_${shape}_$lookup $both
    done
done
want finish double float
want finish_loss double float
for kernel in sum count brightest; do want $kernel double; done
echo "$(grep -c 'launches' stats.txt) lines of kernels, $missing missing"
[ "$missing" -eq 0 ]
