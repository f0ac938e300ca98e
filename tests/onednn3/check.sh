#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every operator case and the models' training steps on oneDNN 3: check.sh PROGRAM LEFT_OUT. LEFT_OUT is a filter
# of tests that do not depend on oneDNN's version. Exit code 77: the program does not exist, because
# tools/python_oracles.sh could not get that version or because all programs use it.
set -euo pipefail
program=$1 left_out=$2
if [ ! -x "$program" ]; then
  echo "skipped: oneDNN 3 is not in build/oracles, or everything here is built with it"
  exit 77
fi
libraries=$(ldd "$program" | grep -o 'libdnnl\.so\.[0-9]*' | sort -u)
if [ "$libraries" != libdnnl.so.3 ]; then
  echo "linked are $libraries, where libdnnl.so.3 alone should be"
  exit 1
fi
exec "$program" --gtest_brief=1 --gtest_filter="-KerasStep.*:Models.*:$left_out"
