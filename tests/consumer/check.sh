#!/usr/bin/env bash
# Installs a build into a fresh folder, then builds and runs the consumer against that copy alone.
# Usage: check.sh BUILD_DIR WORK_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" > "$work/install.log"
"$work/installed/bin/lockstep" doctor
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/installed" > "$work/configure.log"
cmake --build "$work/build"
cd "$work" && build/consumer
test -s step.onnx
