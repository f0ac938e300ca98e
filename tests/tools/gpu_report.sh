#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rehearses the GPU report on the CPU from end to end. Stand-ins replace the profilers, which need a GPU. Only a third
# of the operators' tests and a twentieth of the tests of CUDA's libraries run, since other tests run all of them:
#   gpu_report.sh SOURCE LOCKSTEP TESTS WORK_FOLDER PYTHON
set -euo pipefail
export GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=0
source=$1 lockstep=$2 tests=$3 work=$4 python=$5
report() { "$python" "$source/benchmarks/gpu_report.py" --lockstep "$lockstep" --tests "$work/tests" "$@"; }
rehearse() {
  PATH="$work/tools:$PATH" report --device cpu --model lenet --batch 2 --steps 1 --rounds 1 \
    --detector-iterations 2 --process-iterations 20 --imported resnet18 --imported-batch 1 --further resnet18 lenet "$@"
}

rm -rf "$work"
mkdir -p "$work/tools" "$work/tests"
ln -s "$tests/operators_test" "$tests/runtime_test" "$work/tests"
if [ -x "$tests/cuda_test" ]; then
  printf '#!/bin/sh\nGTEST_TOTAL_SHARDS=20 exec "%s" "$@"\n' "$tests/cuda_test" >"$work/tests/cuda_test"
  chmod +x "$work/tests/cuda_test"
fi
# Runs the program (the first argument that is an executable file) and writes a table like ncu's: two kernels, the
# second with two launches.
cat >"$work/tools/ncu" <<'FAKE'
#!/bin/sh
echo "$@" >>"$(dirname "$0")/ncu_was_asked"
table=
until [ -f "$1" ] && [ -x "$1" ]; do
  case $1 in --log-file) table=$2 ;; esac
  shift
done
"$@" >/dev/null || exit 1
{
  echo '==PROF== Connected to process 1'
  echo '"ID","Kernel Name","gpu__time_duration.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","sm__throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active","launch__registers_per_thread"'
  echo '"","","ns","%","%","%","register/thread"'
  echo '"0","short(int, float)","1,000","10.5","20","30","40"'
  echo '"1","long<4>(float*)","5,000","80","20","30","64"'
  echo '"2","long<4>(float*)","9,000","81","20","30","64"'
} >"$table"
FAKE
# Runs the program unchanged.
cat >"$work/tools/compute-sanitizer" <<'FAKE'
#!/bin/sh
echo "$2" >>"$(dirname "$0")/sanitizers"
shift 4
exec "$@"
FAKE
chmod +x "$work"/tools/*

# Stages may run one per call or all together. A call continues with the incomplete stages.
rehearse --out "$work/out" --stages a
test ! -e "$work/out/b.json"
before=$(stat -c %Y.%i "$work/out/a.json")
rehearse --out "$work/out" | tee "$work/log"
[ "$before" = "$(stat -c %Y.%i "$work/out/a.json")" ]
"$python" - "$work/out" <<'PY'
import json, sys
parts = {stage: json.load(open(f"{sys.argv[1]}/{stage}.json")) for stage in "abcdefgh"}
items = {stage: {item["name"]: item for item in part["items"]} for stage, part in parts.items()}
for stage, part in parts.items():
    assert part["complete"], (stage, part)
    assert not any(item["failed"] for item in part["items"]), (stage, part)
assert items["a"]["operators in bfloat16"]["passed"] > 400, items["a"]
for precision in ("float32", "tf32", "float16"):
    assert items["e"][f"operators in {precision}"]["passed"] > 400, items["e"]
for tool in ("memcheck", "racecheck", "initcheck"):
    assert items["e"][f"operators under {tool}"]["passed"] > 50, items["e"]
assert items["b"]["lenet in bfloat16, engines kept"]["step"]["seconds"] > 0, items["b"]
assert items["b"]["lenet in bfloat16, bytes ahead"]["step"]["bytes"], items["b"]
assert any("ms/step" in line for line in items["b"]["profile"]["lines"]), items["b"]["profile"]
assert items["c"]["times of all kernels"]["kernels"] == ["long<4>(float*)", "short(int, float)"], items["c"]
longest = items["c"]["slowest kernel 1"]
assert longest["launches"] == 2 and abs(longest["seconds"] - 14e-6) < 1e-9, longest
assert longest["values"]["dram__throughput.avg.pct_of_peak_sustained_elapsed"] == 81, longest
assert items["d"]["lenet, batch 2, bfloat16"]["seconds"]["Lockstep"][0] > 0, items["d"]
assert items["f"]["Faster R-CNN on drawn scenes"]["images_per_second"] > 0, items["f"]
for run in ("one process, two replicas", "nccl", "nccl/xring", "collective, not recorded", "nccl, rank 1 killed"):
    assert run in items["g"], items["g"]
assert "the bits of one process" in items["g"]["xring"]["lines"][0], items["g"]["xring"]
for case in ("resnet18, batch 1, bfloat16", "lenet, batch 64, tf32"):
    assert items["h"][case]["seconds"]["Lockstep"][0] > 0, items["h"]
PY
grep -q -- "--clock-control none" "$work/tools/ncu_was_asked"
for line in "-- a: " "GPUs " "operators in tf32" "engines kept" "long<4>" "Lockstep  " "Faster R-CNN"; do
  grep -qF -- "$line" "$work/out/report.txt" || { echo "report.txt lacks '$line'"; exit 1; }
done

# A deleted stage is repeated at its position.
"$python" - "$work/out/b.json" <<'PY'
import json, sys
part = json.load(open(sys.argv[1]))
assert part["items"].pop()["name"] == "profile", part
part["complete"], part["items"][0]["lines"] = False, ["taken before"]
json.dump(part, open(sys.argv[1], "w"))
PY
rehearse --out "$work/out" >"$work/log"
grep -q "taken before" "$work/out/report.txt"
grep -q "ms/step" "$work/out/report.txt"
if grep "engines kept\|-- [acdefgh]" "$work/log"; then
  echo "what was there has been taken again"
  exit 1
fi

# Running out of time is not a failure: the report names the missing parts, and a later call runs them.
rehearse --out "$work/late" --stages b --minutes 0
grep -q "not reached" "$work/late/report.txt"
grep -q '"complete": false' "$work/late/b.json"

# A profiler without permission is skipped; a program that it started ends with the stage.
cat >"$work/tools/ncu" <<'FAKE'
#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
echo "==ERROR== ERR_NVGPUCTRPERM - no permission to access counters" >"$2"
exit 1
FAKE
rehearse --out "$work/forbidden" --stages c
grep -q "left out: ==ERROR== ERR_NVGPUCTRPERM" "$work/forbidden/report.txt"
printf '#!/bin/sh\nsleep 977 & wait\n' >"$work/tools/ncu"
rehearse --out "$work/stopped" --stages c --minutes 0.1
grep -q "stopped: the stage's time is over" "$work/stopped/report.txt"
if pgrep -f "sleep 977" >/dev/null; then
  echo "what the profiler started is still there"
  exit 1
fi

# The report names a failing test, and its exit code is 1.
mkdir -p "$work/broken"
cat >"$work/broken/operators_test" <<'FAKE'
#!/bin/sh
echo "[  FAILED  ] Broken.Case (1 ms)"
exit 1
FAKE
cp "$work/broken/operators_test" "$work/broken/runtime_test"
chmod +x "$work"/broken/*
code=0
rehearse --tests "$work/broken" --out "$work/failed" --stages a >"$work/log" || code=$?
[ "$code" = 1 ]
grep -q "failed: Broken.Case" "$work/log"
code=0
rehearse --out "$work/none" --stages xa 2>"$work/err" || code=$?
[ "$code" = 2 ]
grep -q "there is no stage x; stages are abcdefgh" "$work/err"
if "$lockstep" doctor | grep -q '^GPUs       0'; then
  code=0
  report --out "$work/none" 2>"$work/err" || code=$?
  [ "$code" = 2 ]
  grep -q "no GPU" "$work/err"
fi
