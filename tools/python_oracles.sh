#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the engines that tests compare with: PyTorch with torchrun, torchvision, Open MPI's mpirun, and a virtual
# environment with the newest onnx, ONNX Runtime, safetensors and numpy. Also installs oneDNN 3, headers and library, to
# test our calls beside the distribution's 2.6. Tests look in build/oracles and skip visibly if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# PyTorch and torchvision come from the distribution: small, without a GPU's libraries.
for package in python3-torch python3-torchvision openmpi-bin; do
  dpkg-query -W -f='${Status}' $package 2>/dev/null | grep -q 'ok installed' && continue
  root=()
  [ "$(id -u)" -eq 0 ] || root=(sudo -n)
  if DEBIAN_FRONTEND=noninteractive "${root[@]}" \
      apt-get install -y --no-install-recommends -qq $package >/dev/null 2>&1; then
    echo "oracles: installed $package"
  else
    echo "oracles: $package cannot be installed here; its tests skip"
  fi
done

venv=build/oracles
if [ ! -f $venv/complete ]; then
  mkdir -p build
  python3 -m venv $venv
  $venv/bin/pip install -q --disable-pip-version-check numpy onnx onnxruntime safetensors
  $venv/bin/python - > $venv/complete.tmp <<'P'
import numpy, onnx, onnxruntime, safetensors
print(f"numpy {numpy.__version__}, onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}, "
      f"safetensors {safetensors.__version__}")
P
  mv $venv/complete.tmp $venv/complete
fi
echo "oracles: $(cat $venv/complete)"

# COCO's own scorer, for tests/python/check_coco.py.
if $venv/bin/python -c 'import pycocotools' 2>/dev/null ||
    $venv/bin/pip install -q --disable-pip-version-check pycocotools; then
  echo "oracles: pycocotools"
else
  echo "oracles: pycocotools cannot be installed here; its test skips"
fi

# Another reader of pictures, for tests/python/check_pictures.py.
if $venv/bin/python -c 'import PIL' 2>/dev/null ||
    $venv/bin/pip install -q --disable-pip-version-check pillow; then
  echo "oracles: Pillow"
else
  echo "oracles: Pillow cannot be installed here; its test skips"
fi

# CUDA's disassembler, 3 MB, for tests/python/check_gpu_code.py.
if command -v nvcc >/dev/null; then
  if ls $venv/lib/python*/site-packages/nvidia/*/bin/nvdisasm >/dev/null 2>&1 ||
      $venv/bin/pip install -q --disable-pip-version-check nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm; then
    echo "oracles: CUDA's disassembler"
  else
    echo "oracles: CUDA's disassembler cannot be installed here; its test skips"
  fi
fi

# 39 MB, for the tests in tests/onednn3.
if [ -e $venv/lib/libdnnl.so.3 ] ||
    $venv/bin/pip install -q --disable-pip-version-check onednn-cpu-gomp==2023.2 onednn-devel-cpu-gomp==2023.2; then
  echo "oracles: oneDNN 3"
else
  echo "oracles: oneDNN 3 cannot be installed here; its test skips"
fi
