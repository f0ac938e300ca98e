#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds one preset: tools/build.sh release [target...]. `first` is the quickest way to a program that
# trains: in a new clone it leaves GPU kernels and tests out of build/release, and `release` adds them there without
# compiling anything twice. LOCKSTEP_WERROR=ON or OFF in the environment decides if a compiler's warning stops the
# build; unset, a folder keeps its setting.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
folder=build/${preset/#first/release}
werror=${LOCKSTEP_WERROR:-}
if [ ! -f "$folder/build.ninja" ] ||
    { [ -n "$werror" ] && ! grep -qx "LOCKSTEP_WERROR:BOOL=$werror" "$folder/CMakeCache.txt"; } ||
    { [ "$preset" = release ] && grep -qx 'LOCKSTEP_CUDA:STRING=LATER' "$folder/CMakeCache.txt"; }; then
  cmake --preset "$preset" ${werror:+-D "LOCKSTEP_WERROR=$werror"}
fi
cmake --build --preset "$preset" ${1:+--target "$@"}
