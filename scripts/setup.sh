#!/bin/sh
# setup.sh - installs what building nanobrag needs and this machine lacks.
#
#   scripts/setup.sh            compilers, CMake, Ninja, FFTW, cJSON, libpng, LAPACK,
#                               NLopt, gemmi, HDF5, bzip2
#   scripts/setup.sh --tests    and what the tests need, MPI among it
#   scripts/setup.sh --dev      and what .ci/run needs
#   scripts/setup.sh --dials    and DIALS, for the closed loop (about 2 GB)
#   scripts/setup.sh --python   and what scripts/python.sh needs, Chromium among it
#   scripts/setup.sh --minimal  only what the build cannot do without
#
# Debian 12, Ubuntu 22.04 or newer, as root or with sudo. Elsewhere it names what is
# missing. SPDX-License-Identifier: MIT
set -eu

usage()
{
    sed -n '2,/^# missing/p' "$0" | sed 's/^# \{0,1\}//; s/SPDX.*//'
}

libraries=1 tests=0 dev=0 dials=0 python=0
for argument in "$@"; do
    case $argument in
    --minimal) libraries=0 ;;
    --tests) tests=1 ;;
    --dev) tests=1 dev=1 python=1 ;;
    --python) python=1 ;;
    --dials) dials=1 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "setup.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
    esac
done

missing='' optional=''
command_of() # COMMAND PACKAGE
{
    command -v "$1" > /dev/null 2>&1 || missing="$missing $2"
}
header_of() # HEADER PACKAGE
{
    for folder in /usr/include /usr/local/include /usr/include/*-linux-gnu; do
        [ ! -e "$folder/$1" ] || return 0
    done
    missing="$missing $2"
}
package() # PACKAGE
{
    dpkg-query -W -f '${Status}' "$1" 2> /dev/null | grep -q 'ok installed' \
        || missing="$missing $1"
}

command_of gcc gcc
header_of stdio.h libc6-dev
command_of cmake cmake
command_of ninja ninja-build
if [ $libraries = 1 ]; then
    header_of fftw3.h libfftw3-dev
    header_of cjson/cJSON.h libcjson-dev
    header_of png.h libpng-dev
    header_of lapacke.h liblapacke-dev
    header_of nlopt.h libnlopt-dev
    header_of gemmi/mmcif.hpp gemmi-dev
    header_of hdf5/serial/hdf5.h libhdf5-dev
    header_of tao/pegtl.hpp tao-pegtl-dev
    header_of zlib.h zlib1g-dev
    header_of bzlib.h libbz2-dev
    command_of g++ g++
fi
if [ $tests = 1 ]; then
    [ $libraries = 1 ] || command_of g++ g++
    command_of pkg-config pkg-config
    [ $libraries = 0 ] || command_of mpicc libopenmpi-dev
    [ $libraries = 0 ] || command_of mpirun openmpi-bin
fi
if [ $dev = 1 ]; then
    command_of clang clang
    command_of clang-format-14 clang-format-14
    command_of clang-tidy-14 clang-tidy-14
    command_of man man-db
    command_of shellcheck shellcheck
    if command -v apt-get > /dev/null 2>&1; then
        package libomp-dev
        package libclang-rt-14-dev
    fi
fi
if [ $python = 1 ]; then
    python3 -c 'import ensurepip, venv' 2> /dev/null || missing="$missing python3-venv"
    python3 -c 'import os, sysconfig
open(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2> /dev/null \
        || missing="$missing python3-dev"
    command -v chromium > /dev/null 2>&1 || optional="$optional chromium"
fi
[ $dials = 0 ] || command_of dials.import dials

if [ -z "$missing$optional" ]; then
    echo "setup: nothing is missing"
    exit 0
fi
echo "setup: missing:$missing$optional"
# without what is optional, the tests that need it are skipped
without_optional()
{
    [ -z "$missing" ] || return 0
    echo "setup: without$optional, which could not be installed"
    exit 0
}
if ! command -v apt-get > /dev/null 2>&1; then
    without_optional
    echo "setup: no apt-get here; install these (Debian names) and run again" >&2
    exit 1
fi

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null 2>&1 || {
        without_optional
        echo "setup: run as root: apt-get install$missing" >&2
        exit 1
    }
    sudo=sudo
fi
echo "setup: installing them with apt-get"
$sudo apt-get update -qq || without_optional
install() # PACKAGES
{
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing
missing=
# Ubuntu has Chromium as a snap only
[ -z "$optional" ] || { # shellcheck disable=SC2086
    install $optional || without_optional
}
echo "setup: done"
