#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the operator cases on another device than the CPU, or on 16-bit floats:
#   operators_on.sh cpu|gpu|emulated|queues float32|bfloat16|float16 OPERATORS_TEST LOCKSTEP LEFT_OUT
# An emulated GPU is another program (tests/emulated_gpu). LEFT_OUT is a filter of tests that do not depend on device or
# precision. Exit code 77: there is no GPU.
set -euo pipefail
device=$1 precision=$2 cases=$3 lockstep=$4 left_out=$5
if [ "$device" = gpu ] && "$lockstep" doctor | grep -q '^GPUs       0'; then
  echo "skipped: no GPU"
  exit 77
fi
export LOCKSTEP_CASE_DEVICE=${device/emulated/gpu}
cases_only="-Gpu.*:*Exchange*:*Emulated*:*Folding*:$left_out"
if [ "$precision" = float32 ]; then
  exec "$cases" --gtest_brief=1 --gtest_filter="$cases_only"
fi
# Only the float32 run covers operators without a 16-bit form, which do not round.
LOCKSTEP_CASE_PRECISION=$precision exec "$cases" --gtest_brief=1 --gtest_filter="$cases_only:*Errors.*"
