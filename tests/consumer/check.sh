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
awk '/^held out: / { good = $3 + 0 < 4 } END { exit !good }' text.txt
if build/text nothing.txt 5 2> refused.txt; then exit 1; fi
grep -q "nothing.txt" refused.txt
"$work/installed/bin/lockstep" inspect trained.onnx > trained.txt
grep -q "predicts prob" trained.txt

# A program with a data set of its own has every command of lockstep.
build/own_data network network.onnx
cat > own.yaml <<'CONFIG'
MODEL: {ONNX: network.onnx, LOSS: {mse: [out, y]}}
DATA: {NAME: own_regression, TRAIN: noise=0.1, TEST: noise=0.1}
TRAIN: {BATCH_SIZE: 32, SNAPSHOT_ITERS: 1000}
TEST: {ITERS: 1000, METRICS: {r2: [out, y]}}
THREADS: 1
SOLVER: {TYPE: Adam, BASE_LR: 0.02, WEIGHT_DECAY: 0, WARM_UP_ITERS: 0, MAX_ITER: 800}
CONFIG
own() { build/own_data train own.yaml "$@" > own.txt 2>&1 || { cat own.txt; return 1; }; }
score() { build/own_data test own.yaml --weights "$1/checkpoint.safetensors" | tee -a scores.txt; }
is_good() { awk '/^held-out loss / { good = $3 + 0 <= 0.2 } END { exit !good }'; }
own OUTPUT_DIR whole
grep -q "x float32\[4\], y float32\[1\]; 1,000,000 examples to train on, 200 to test on" own.txt
score whole | is_good
# Two replicas, two processes, and a run in two parts.
own OUTPUT_DIR two DEVICES 'cpu*2'
score two | is_good
own OUTPUT_DIR parts SOLVER.MAX_ITER 300
own OUTPUT_DIR parts --resume
# The states behind the header, which has the time of the run.
states() { tail -c +$((9 + $(od -An -tu8 -N8 "$1/checkpoint.safetensors"))) "$1/checkpoint.safetensors"; }
cmp <(states whole) <(states parts)
build/own_data launch -n 2 -- build/own_data train own.yaml OUTPUT_DIR processes > own.txt 2>&1 || { cat own.txt; exit 1; }
score processes | is_good
refused() { local text=$1; shift; if "$@" 2> refused.txt; then exit 1; fi; grep -q -- "$text" refused.txt || { cat refused.txt; exit 1; }; }
refused "the examples of DATA.TRAIN" build/own_data train own.yaml OUTPUT_DIR parts --resume SOLVER.MAX_ITER 900 DATA.TRAIN noise=0.2
refused "DATA.TRAIN: 'loud' should be noise=NUMBER" build/own_data train own.yaml DATA.TRAIN loud
refused "DATA.TEST: own_regression: stod" build/own_data train own.yaml DATA.TEST noise=much
refused "the data set has no 'z'" build/own_data train own.yaml MODEL.LOSS '{mse: [out, z]}'
refused "the data set has no 'features'" build/own_data train own.yaml DATA.SOURCES '{x: features}'
refused "DATA.COLUMNS is a key of DATA.NAME arrays" build/own_data train own.yaml DATA.COLUMNS '{x: [a]}'
refused "own_regression" "$work/installed/bin/lockstep" train own.yaml MODEL.TYPE arrays
build/own_data keys --task arrays > keys.txt
grep -q "own_regression: sums of sines" keys.txt
printf 'x.0,x.1,x.2,x.3\n0,0,0,0\n1,1,1,1\n' > rows.csv
build/own_data infer whole/model.onnx rows.csv --out predicted
"$work/installed/bin/lockstep" infer whole/model.onnx rows.csv --out predicted_by_other
cmp predicted/out.npy predicted_by_other/out.npy
