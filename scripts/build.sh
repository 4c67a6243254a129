#!/bin/sh
# build.sh - installs what is missing and builds into build/release, all of it or only
# $BUILD_TARGET; options go to setup.sh. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

sh scripts/setup.sh "$@"
echo "build: configuring and building into build/release"
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release
cmake --build build/release ${BUILD_TARGET:+--target "$BUILD_TARGET"}
