#!/bin/sh
# pytest.sh FILE... - runs tests of the Python package with the interpreter that has it:
# $NANOBRAG_PYTHON, or that of scripts/python.sh. SPDX-License-Identifier: MIT
home=$NANOBRAG_SOURCE/build/python
python=${NANOBRAG_PYTHON-$home/bin/python}
if ! [ -x "$python" ] || ! "$python" -c 'import nanobrag, pytest' 2> /dev/null; then
    echo "  skipped: the Python package is not installed (scripts/python.sh does it)"
    exit 77
fi
# what it was built from has changed since
cd "$NANOBRAG_SOURCE" || exit 1
if [ -z "${NANOBRAG_PYTHON-}" ] && { ! [ -e "$home/built" ] \
    || find CMakeLists.txt cmake include python/CMakeLists.txt python/glue python/nanobrag \
        python/tools src -type f ! -name '*.pyc' -newer "$home/built" | grep -q .; }; then
    echo "  skipped: the Python package is older than its sources (scripts/python.sh builds it)"
    exit 77
fi
exec "$python" -m pytest -q -p no:cacheprovider -c "$NANOBRAG_SOURCE/pyproject.toml" \
    --rootdir "$NANOBRAG_SOURCE" "$@"
