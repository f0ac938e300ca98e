#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a fresh folder, then builds and runs the programs of this folder and of
# docs/from_cpp.md against that copy alone.
# Usage: check.sh BUILD_DIR WORK_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" > "$work/install.log"
"$here/../../tools/check_licence.sh" --carried "$work/installed"
# The public headers are installed as they stand, and no others.
diff -r "$here/../../include/lockstep" "$work/installed/include/lockstep"
"$work/installed/bin/lockstep" doctor
mkdir -p "$work/build"
awk '/^```cpp$/ { code = 1; next } /^```$/ { code = 0 } code' "$here/../../docs/from_cpp.md" > "$work/build/page.cc"
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/installed" > "$work/configure.log"
cmake --build "$work/build"
cd "$work" && build/consumer
test -s step.onnx
build/cart_pole
build/page
build/own_operator
build/own_openmp
OMP_DYNAMIC=true OMP_WAIT_POLICY=passive build/own_openmp
if OMP_THREAD_LIMIT=1 build/own_openmp train 2> refused.txt; then exit 1; fi
grep -q "OMP_THREAD_LIMIT is 1" refused.txt
build/everything
# Better than the frequencies of characters, some 4.6 bits, which a network learns first.
cat "$here"/../../docs/*.md > pages.txt
build/text pages.txt 400 | tee text.txt
awk '/^held out: / { found = 1; if ($3 > 4) exit 1 } END { exit !found }' text.txt
if build/text nothing.txt 5 2> refused.txt; then exit 1; fi
grep -q "nothing.txt" refused.txt
"$work/installed/bin/lockstep" inspect trained.onnx > trained.txt
grep -q "predicts prob" trained.txt
