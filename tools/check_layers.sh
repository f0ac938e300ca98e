#!/usr/bin/env bash
# The law of dependency: graph <- runtime <- operators <- builders <- models <- tools; data sees
# runtime and graph; heavy headers stay in the files whose names say so. Prints what breaks it.
set -u
cd "$(dirname "$0")/.."

broken=0
complain() { echo "$1"; broken=1; }

# allowed FOLDER... : the project folders that files of the first one may include.
allowed() {
  local folder=$1 allowed_pattern
  allowed_pattern=$(IFS='|'; echo "$*")
  while IFS= read -r line; do
    complain "$line: $folder may include only: $*"
  done < <(grep -rnE '^#include "' --include='*.h' --include='*.cc' --include='*.cu' "$folder" |
           grep -vE "#include \"(${allowed_pattern})/")
}
allowed graph
allowed runtime graph
allowed operators graph runtime
allowed builders graph runtime operators
allowed models graph runtime operators builders
allowed data graph runtime
allowed tools graph runtime operators builders models data

# only PATTERN WHERE...: the header may be included only in files that match.
only() {
  local header=$1 where=$2
  while IFS= read -r line; do
    complain "$line: allowed only in $where"
  done < <(grep -rnE "^#include [<\"]($header)" --include='*.h' --include='*.cc' --include='*.cu' \
             graph runtime operators builders models data tools tests | grep -vE "^($where)")
}
only 'onnx/|google/protobuf|graph/(onnx|schema|infer|import|export)\.h' 'graph/|tests/graph/|tests/fuzz/metadata\.cc|tests/fuzz/mutate_onnx\.cc'
only 'oneapi/|dnnl|runtime/dnnl\.h' 'runtime/dnnl\.(h|cc)|operators/[a-z_]+/[a-z_]+_cpu\.cc|tools/(doctor|version)\.cc'
only 'cuda|cudnn|cublas|nccl|cub/' '.*_cuda\.(cu|cc|h)|runtime/cuda|tests/emulated_gpu'
only 'gloo/' 'runtime/comm_gloo'
only 'yaml-cpp' 'tools/train/config\.cc'

[ $broken -eq 0 ] && echo "layers: in order"
exit $broken
