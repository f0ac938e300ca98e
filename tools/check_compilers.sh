#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that compilers other than the build's read Lockstep without a warning. Each compiler of a list, if installed,
# reads all headers as one file, and the sources of two folders, each folder as one file. Nothing is
# built; a compiler takes 15 s. `tools/check_compilers.sh clang++-19` runs one compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

newest=clang++-19  # in Debian 12
folders=(graph models)
flags=(-std=c++20 -Wall -Wextra -Werror -fsyntax-only -DONNX_ML=1 -DONNX_NAMESPACE=onnx -Iinclude -I. -x c++)
# The options of cmake/targets.cmake.
flags_of() {
  case "$1" in
    g++*) echo "-Wno-restrict" ;;
    clang++-14) ;;
    *) echo "-Wno-deprecated-declarations" ;;
  esac
}
known=(g++-12 g++-13 g++-14 clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19)

present=() absent=()
for compiler in "${@:-${known[@]}}"; do
  if command -v "$compiler" >/dev/null; then present+=("$compiler"); else absent+=("$compiler"); fi
done
if [ $# -gt 0 ] && [ ${#absent[@]} -gt 0 ]; then
  echo "compilers: not here: ${absent[*]}; apt-get install clang-19 brings $newest" >&2
  exit 2
fi

joined() { LC_ALL=C sort | sed 's|^include/||; s/.*/#include "&"/'; }
headers() {  # without CUDA's, AMX's and AVX-512's, which need a toolkit or flags
  find include graph runtime operators builders models data -name '*.h' | grep -vE '_cuda\.h$|/(cuda|amx)/|/cudnn_|/cublas_|/avx(2|512)'
}

failed=()
for compiler in "${present[@]}"; do
  start=$SECONDS
  read -ra own < <(flags_of "$compiler"; echo)
  asked=("$compiler" "${flags[@]}" "${own[@]}" -)
  said=$(headers | joined | "${asked[@]}" 2>&1) || failed+=("$compiler (headers)")
  for folder in "${folders[@]}"; do
    said+=$(find "$folder" -name '*.cc' | joined | "${asked[@]}" 2>&1) || failed+=("$compiler ($folder)")
  done
  [ -z "$said" ] || echo "$said"
  echo "compilers: $compiler read $(headers | wc -l) headers, ${folders[*]} in $((SECONDS - start)) s"
done
[ $# -gt 0 ] || [[ " ${present[*]} " == *" $newest "* ]] ||
  echo "compilers: NOT checked with $newest, the newest that Debian 12 has: it is not here (apt-get install clang-19)"
if [ ${#failed[@]} -gt 0 ]; then
  echo "compilers: errors or warnings of ${failed[*]}"
  exit 1
fi
