#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The bundle runs on a machine with nothing but the C library: bundle.sh SOURCE WORK_FOLDER. Exit code 77: only root can
# enter another root folder.
set -euo pipefail
source=$1 work=$2
if [ "$(id -u)" -ne 0 ]; then
  echo "skipped: chroot needs root"
  exit 77
fi
"$source/tools/bundle.sh"

umount "$work/proc" 2>/dev/null || true  # left by a killed run
rm -rf --one-file-system "$work"
mkdir -p "$work"/{lib64,lib/x86_64-linux-gnu,proc,dev,tmp,elsewhere}
cp -L /lib64/ld-linux-x86-64.so.2 "$work/lib64/"
for library in libc libm libdl librt libpthread; do
  file=$(find /lib/x86_64-linux-gnu -name "$library.so.*" | head -1)
  if [ -n "$file" ]; then cp -L "$file" "$work/lib/x86_64-linux-gnu/"; fi
done
tar -C "$work/elsewhere" -xf "$source/build/lockstep-bundle.tar.xz"
"$source/tools/check_licence.sh" --carried "$work/elsewhere/lockstep-bundle"
for copyright in libgtest-dev libcairo2 libpixman-1-0; do  # used by the tests, a program, a library
  test -s "$work/elsewhere/lockstep-bundle/share/doc/lockstep/libraries/$copyright"
done

# Programs read their own path from /proc.
mount --bind /proc "$work/proc" || { echo "skipped: /proc cannot be mounted here"; exit 77; }
trap 'umount "$work/proc"' EXIT

there() { chroot "$work" "/elsewhere/lockstep-bundle/bin/$1" "${@:2}"; }
there lockstep doctor
there lockstep train /elsewhere/lockstep-bundle/configs/lenet_digits.yaml --devices 'cpu*2' \
  SOLVER.MAX_ITER 20 TEST.ITERS 20 DATA.TRAIN_SIZE 640 DATA.TEST_SIZE 64 OUTPUT_DIR /tmp/run |
  tee "$work/log"
grep -q "held-out accuracy" "$work/log"
test -s "$work/tmp/run/report.html"
# A still WebP of two by two pixels: the bundle contains the libraries that read pictures.
printf 'UklGRh4AAABXRUJQVlA4TBEAAAAvAUAAAAdQ5CIXuf+BiOh/AAA=' | base64 -d >"$work/tmp/small.webp"
there lockstep infer /tmp/run/model.onnx /tmp/small.webp | tee "$work/log"
grep -q "small.webp  [0-9]" "$work/log"
there operators_test --gtest_brief=1 --gtest_filter='*Conv*:*Gemm*' | tail -1
