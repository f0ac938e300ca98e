# SPDX-License-Identifier: Apache-2.0
# train, detect, build and test are for a fresh machine; everything else is CMake (see CMakePresets.json).
.PHONY: train detect test check fuzz build bundle package docs setup format clean

build: setup
	@tools/build.sh release

train:
	@tools/setup.sh first
	@tools/build.sh first
	build/release/lockstep train configs/lenet_digits.yaml

detect:
	@tools/setup.sh first
	@tools/build.sh first
	build/release/lockstep train configs/detection/scenes_faster_rcnn_fpn.yaml
	build/release/lockstep test configs/detection/scenes_faster_rcnn_fpn.yaml
	build/release/lockstep scenes --images 12 --val --out runs/scenes
	build/release/lockstep infer configs/detection/scenes_faster_rcnn_fpn.yaml runs/scenes/images --out runs/seen

test: setup
	@tools/run_tests.sh

check: test
	@tools/run_sanitizers.sh

fuzz: setup  # make fuzz SECONDS=600
	@tools/fuzz.sh $(or $(SECONDS),60)

bundle: build
	@tools/bundle.sh

package: build
	@tools/package.sh

docs:
	@tools/setup.sh docs
	@tools/docs.sh

setup:
	@tools/setup.sh

format:
	git ls-files -co --exclude-standard '*.h' '*.cc' '*.cu' | xargs clang-format -i

clean:
	rm -rf build
