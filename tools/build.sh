#!/usr/bin/env bash
# Configures and builds one preset: tools/build.sh release [target...]. `first` is the quickest way to
# a program that trains: in a new clone it leaves GPU kernels and tests out of build/release, and
# `release` adds them there without compiling anything twice.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
folder=build/${preset/#first/release}
if [ ! -f "$folder/build.ninja" ] ||
    { [ "$preset" = release ] && grep -qx 'LOCKSTEP_CUDA:STRING=LATER' "$folder/CMakeCache.txt"; }; then
  cmake --preset "$preset"
fi
cmake --build --preset "$preset" ${1:+--target "$@"}
