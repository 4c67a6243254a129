#!/bin/sh
# pytest.sh FILE... - runs tests of the Python package with the interpreter that has it:
# $NANOBRAG_PYTHON, or that of scripts/python.sh. SPDX-License-Identifier: MIT
python=${NANOBRAG_PYTHON-$NANOBRAG_SOURCE/build/python/bin/python}
if ! [ -x "$python" ] || ! "$python" -c 'import nanobrag, pytest' 2> /dev/null; then
    echo "  skipped: the Python package is not installed (scripts/python.sh does it)"
    exit 77
fi
exec "$python" -m pytest -q -p no:cacheprovider -c "$NANOBRAG_SOURCE/pyproject.toml" \
    --rootdir "$NANOBRAG_SOURCE" "$@"
