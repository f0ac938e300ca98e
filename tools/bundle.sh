#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collects everything needed to run, test and measure Lockstep on another x86-64 Linux with glibc 2.36 or later:
# tools/bundle.sh leaves build/lockstep-bundle/ and build/lockstep-bundle.tar.xz. CUDA's own libraries are left out; a
# run looks for them (lockstep doctor).
set -euo pipefail
cd "$(dirname "$0")/.."
from=build/release to=build/lockstep-bundle limit=$((60 * 1000 * 1000))

programs=("$from/lockstep")
for test in operators_test runtime_test models_test cuda_test; do
  [ -x "$from/tests/$test" ] && programs+=("$from/tests/$test")
done
rm -rf "$to" "$to.tar.xz"
mkdir -p "$to/bin" "$to/lib" "$to/benchmarks/gpu"
for program in "${programs[@]}"; do
  strip -o "$to/bin/$(basename "$program")" "$program"
done

# The C library and its loader are the other machine's; all other libraries come along.
mapfile -t libraries < <(ldd "${programs[@]}" | awk '$3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux-x86-64)\.so')
cp -L "${libraries[@]}" "$to/lib/"
strip --strip-unneeded "$to"/lib/*.so*
cmake --install "$from" --component notices --prefix "$PWD/$to" >/dev/null
headers=()
[ ${#programs[@]} -eq 1 ] || headers=(/usr/include/gtest/gtest.h)  # the tests contain gtest
tools/notices.sh "$to/share/doc/lockstep" "${libraries[@]}" "${headers[@]}"
cp -r configs "$to/configs"
cp benchmarks/*.py "$to/benchmarks/"
cp benchmarks/gpu/*.py "$to/benchmarks/gpu/"
cat >"$to/README.txt" <<'TEXT'
Lockstep, to be run from this folder.

  bin/lockstep doctor                                  what this machine has
  bin/lockstep train configs/lenet_digits.yaml         train the demo
  python3 benchmarks/gpu_report.py --out report        test and measure on a GPU, beside PyTorch

GPUs need NVIDIA's driver, cuBLASLt and cuDNN 9 on the library path.

Licence, notices and the copyright files of lib/: share/doc/lockstep.
TEXT

# A tenth larger than with -6, in a third of the time.
XZ_OPT="-2 -T0" tar -C build -cJf "$to.tar.xz" lockstep-bundle
size=$(stat -c %s "$to.tar.xz")
echo "bundle: $to.tar.xz, $((size / 1000000)) MB packed, $(du -sm "$to" | cut -f1) MB unpacked"
if [ "$size" -gt "$limit" ]; then
  echo "bundle: more than $((limit / 1000000)) MB" >&2
  exit 1
fi
