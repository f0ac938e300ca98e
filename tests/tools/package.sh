#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package contains the expected files, lists its dependencies, and runs from any folder:
#   package.sh SOURCE BUILD FOLDER VERSION
# Exit code 77: Debian's tools are missing.
set -euo pipefail
source=$1 build=$2 folder=$3 version=$4
for tool in dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is missing (packages dpkg-dev and file)"; exit 77; }
done
wrong() { echo "package: $*" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder/root" "$folder/elsewhere"
"$source/tools/package.sh" "$build" "$folder"
deb="$folder/lockstep_${version}_$(dpkg --print-architecture).deb"
field() { dpkg-deb -f "$deb" "$1"; }
[ "$(field Package) $(field Version)" = "lockstep $version" ] || wrong "control: $(dpkg-deb -f "$deb")"
[ "$(field Maintainer)" = "The Lockstep authors" ] || wrong "maintainer: $(field Maintainer)"
[ -n "$(field Section)" ] && [ -n "$(field Description)" ] || wrong "no section or description"
for package in libc6 libstdc++6 libonnx1 libprotobuf libdnnl libgloo libssl3 libcairo2 libyaml-cpp; do
  [[ ", $(field Depends)" == *", $package"* ]] || wrong "needs no $package: $(field Depends)"
done

root=$folder/root
dpkg-deb -x "$deb" "$root"
program=$root/usr/bin/lockstep
diff -r "$source/include/lockstep" "$root/usr/include/lockstep" || wrong "other headers than the public ones"
(cd "$source/configs" && find . -name '*.yaml' | sed 's|^\.|share/doc/lockstep/examples|') >"$folder/expected"
for library in graph runtime operators kernels builders models data app tool command; do
  echo "lib/liblockstep_$library.a"
done >>"$folder/expected"
cat >>"$folder/expected" <<'FILES'
bin/lockstep
lib/cmake/Lockstep/LockstepConfig.cmake
lib/cmake/Lockstep/LockstepConfigVersion.cmake
lib/cmake/Lockstep/LockstepTargets.cmake
lib/cmake/Lockstep/dependencies.cmake
share/bash-completion/completions/lockstep
share/fish/vendor_completions.d/lockstep.fish
share/man/man1/lockstep.1.gz
share/zsh/vendor-completions/_lockstep
FILES
while read -r name; do
  [ -s "$root/usr/$name" ] || wrong "/usr/$name is missing or empty"
done <"$folder/expected"
ours='^\./usr/(bin/lockstep$|include/lockstep/|lib/(liblockstep_|cmake/Lockstep/)|share/)'
stray=$(cd "$root" && find . -type f | grep -vE "$ours" || true)
[ -z "$stray" ] || wrong "holds $stray"
[ -z "$(find "$root/usr" ! -perm -o=r)" ] || wrong "not for everybody: $(find "$root/usr" ! -perm -o=r)"
for file in LICENSE:copyright NOTICE:NOTICE; do
  [ ! -e "$source/${file%:*}" ] || cmp "$source/${file%:*}" "$root/usr/share/doc/lockstep/${file#*:}"
done

# Nothing refers to the build folder.
! readelf -d "$program" | grep -E 'RPATH|RUNPATH' || wrong "the program looks for libraries there"
! grep -rlaF "$build" "$root" || wrong "the build's folder is named in those files"
! ldd "$program" | grep 'not found' || wrong "libraries are missing"

# A user's shell and man read the program's own output.
cd "$folder/elsewhere"
there() { env -i HOME="$PWD" PATH=/usr/bin:/bin "$program" "$@"; }
there --version >version.txt
head -1 version.txt | grep -qx "lockstep $version" || wrong "is $(head -1 version.txt)"
there manual | cmp - <(gzip -dc "$root/usr/share/man/man1/lockstep.1.gz")
there completion bash | cmp - "$root/usr/share/bash-completion/completions/lockstep"
there completion zsh | cmp - "$root/usr/share/zsh/vendor-completions/_lockstep"
there completion fish | cmp - "$root/usr/share/fish/vendor_completions.d/lockstep.fish"
bash -n "$root/usr/share/bash-completion/completions/lockstep"
head -1 "$root/usr/share/zsh/vendor-completions/_lockstep" | grep -qx '#compdef lockstep' ||
  wrong "zsh will not read its completions"
if command -v man >/dev/null; then
  man --warnings -E UTF-8 -l "$root/usr/share/man/man1/lockstep.1.gz" >page.txt 2>warnings.txt
  [ ! -s warnings.txt ] || wrong "the manual page: $(head -3 warnings.txt)"
  grep -q 'EXIT STATUS' page.txt || wrong "the manual page has no end"
fi

there build lenet -o step.onnx --devices 'cpu*2'
there inspect step.onnx >step.txt
there train "$root/usr/share/doc/lockstep/examples/lenet_digits.yaml" SOLVER.MAX_ITER 5 SOLVER.WARM_UP_ITERS 0 \
  SOLVER.STEPS '[0]' TEST.ITERS 5 DATA.TRAIN_SIZE 640 DATA.TEST_SIZE 64 OUTPUT_DIR run | tee train.txt
grep -q "held-out accuracy" train.txt || wrong "a run without a score"
test -s run/model.onnx || wrong "a run without its network"
