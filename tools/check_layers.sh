#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the layers: graph <- runtime <- operators <- builders <- models <- app <- tools. data includes only runtime and
# graph. Public headers (include/lockstep) belong to layers and include public headers only. Subfolders of runtime,
# builders, app and app/detection have layers, too. Heavy headers stay in files with names that say so. Each test is
# built. Prints every violation.
set -u
cd "$(dirname "$0")/.."

broken=0
complain() { echo "$1"; broken=1; }

# The layer of each public header. A new public header needs an entry, and there are at most 31.
declare -A layer=(
  [error]=graph [types]=graph [attributes]=graph [op]=graph [graph]=graph [training_model]=graph [model_files]=graph
  [device]=runtime [tensor]=runtime [kernel]=runtime [feeds]=runtime [results]=runtime [session]=runtime
  [session_options]=runtime [checkpoint]=runtime [processes]=runtime [random]=runtime
  [operators]=operators
  [net]=builders [layers]=builders [losses]=builders [optimizers]=builders [all_reduce]=builders
  [data_parallel]=builders [resident]=builders [imported]=builders
  [models]=models
  [loader]=data [text]=data [episodes]=data
  [command]=app
)
# public LAYER... : a pattern for the public headers of these layers.
public() {
  local header pattern=
  for header in "${!layer[@]}"; do
    [[ " $* " == *" ${layer[$header]} "* ]] && pattern+="|$header"
  done
  echo "lockstep/(${pattern#|})\\.h"
}

# allowed FOLDER... : the project folders that files of the first folder may include.
allowed() {
  local folder=$1 folders
  folders=$(IFS='|'; echo "$*")
  while IFS= read -r line; do
    complain "$line: $folder may include only: $*, and their public headers"
  done < <(grep -rnE '^#include "' --include='*.h' --include='*.cc' --include='*.cu' "$folder" |
           grep -vE "#include \"((${folders})/|$(public "$@"))")
}
allowed graph
allowed runtime graph
allowed operators graph runtime
allowed builders graph runtime operators
allowed models graph runtime operators builders
allowed data graph runtime
allowed app graph runtime operators builders models data
allowed tools graph runtime operators builders models data app

declare -A below=(
  [graph]=graph [runtime]='graph runtime' [operators]='graph runtime operators'
  [builders]='graph runtime operators builders' [models]='graph runtime operators builders models'
  [data]='graph runtime data' [app]='graph runtime operators builders models data app'
)
for header in include/lockstep/*; do
  name=$(basename "$header" .h)
  [ -n "${layer[$name]:-}" ] || complain "$header: tools/check_layers.sh lists no layer for it"
  while IFS= read -r line; do
    complain "$header:$line: a public header includes public headers of its own layer and below only"
  done < <(grep -nE '^#include "' "$header" | grep -vE "#include \"$(public ${below[${layer[$name]:-graph}]})\"")
  # Types of ONNX, protobuf and plans are private.
  while IFS= read -r line; do
    complain "$header:$line: a public header names no type of onnx, protobuf or a plan"
  done < <(sed 's|//.*||' "$header" | grep -nE '\bonnx::|\bgoogle::|\b(Plan|PlanStep|Executor|States)\b')
done
[ "$(find include/lockstep -type f | wc -l)" -le 31 ] || complain "include/lockstep has more than 31 headers"
# Programs of users include public headers only.
while IFS= read -r line; do
  complain "$line: users' programs include <lockstep/..> and libraries only"
done < <(grep -nE '^#include ["<]' tests/consumer/*.cc docs/*.md README.md |
         grep -vE "#include (<[a-z_]+>|<(omp|dlfcn|sched)\.h>|<$(public graph runtime operators builders models data app)>)")

# floor FOLDER SUBFOLDER PATTERN : the subfolders of FOLDER that files of a subfolder may include.
floor() {
  local folder=$1 room=$2 lower=$3
  while IFS= read -r line; do
    complain "$line: $folder/$room may include of $folder only: $room $lower"
  done < <(grep -rnE "^#include \"$folder/[a-z_]+/" "$folder/$room" | grep -vE "#include \"$folder/($room/${lower:+|$lower})")
}
# A file of runtime itself may include layout and threads; all other subfolders may include it.
while IFS= read -r line; do
  complain "$line: a file of runtime itself may include layout/ and threads/ only"
done < <(grep -nE '^#include "runtime/[a-z_]+/' runtime/*.* | grep -vE '"runtime/(layout|threads)/')
while IFS= read -r line; do
  complain "$line: runtime/layout and runtime/threads may include nothing else of runtime"
done < <(grep -nE '^#include "runtime/[a-z_]+\.' runtime/layout/*.* runtime/threads/*.*)
floor runtime layout ''
floor runtime threads ''
floor runtime masks ''
floor runtime kernel 'layout/|threads/'
floor runtime plan 'layout/|threads/|kernel/'
floor runtime exec 'layout/|threads/|kernel/|plan/'
floor runtime dist ''
floor runtime state 'layout/|threads/|kernel/|plan/|exec/|dist/'
floor runtime cuda 'dist/agree\.h'
floor builders net ''
floor builders optimizers 'net/'
floor builders detection 'net/'
floor builders all_reduce 'net/'
floor builders resident ''
floor builders step 'net/|optimizers/|all_reduce/|resident/inputs\.h'
floor app config ''
floor app record ''
floor app inspect ''
floor app diff 'config/|record/|report/|train/|inspect/'
floor app draw ''
floor app report 'record/|draw/|pages/|trace/'
floor app onnx ''
floor app weights ''
floor app simulate 'config/|inspect/'
floor app trace ''
floor app pages 'inspect/|trace/'
floor app train 'config/|record/|report/|trace/|weights/'
floor app predict 'config/|train/|weights/'
floor app step 'config/|onnx/|trace/|train/|weights/'
for task in arrays classification detection text control; do
  floor app "$task" 'config/|record/|draw/|report/|onnx/|train/|predict/|weights/'
done
# Finding objects knows neither the results of a test nor training.
for part in config datasets find shapes; do
  floor app/detection "$part" 'config/|datasets/|find/|shapes/'
done
floor app/detection results 'config/|datasets/|find/|shapes/'
floor app/detection train 'config/|datasets/|find/|results/'

# only PATTERN WHERE...: the header may be included only in files that match.
only() {
  local header=$1 where=$2
  while IFS= read -r line; do
    complain "$line: allowed only in $where"
  done < <(grep -rnE "^#include [<\"]($header)" --include='*.h' --include='*.cc' --include='*.cu' \
             include graph runtime operators builders models data app tools tests | grep -vE "^($where)")
}
only 'onnx/|graph/(onnx|schema|infer|import|export|attribute_reader|graph_members)\.h' 'graph/|tests/graph/|tests/fuzz/metadata\.cc|tests/fuzz/mutate_onnx\.cc'
only 'google/protobuf' 'graph/|tests/graph/|tests/fuzz/mutate_onnx\.cc|app/record/proto_message\.cc'
only 'oneapi/|operators/([a-z_]+/)+([a-z_]+_)?dnnl\.h' 'operators/kit/dnnl\.(h|cc)|operators/([a-z_]+/)+[a-z_]+_(cpu|dnnl)\.(h|cc)|tools/doctor\.cc|app/version\.cc'
only 'cuda|cudnn|cublas|nccl|cub/' '.*_cuda\.(cu|cc|h)|runtime/cuda|operators/conv/cudnn_|operators/gemm/cublas_|tests/emulated_gpu'
only 'gloo/' 'runtime/dist/gloo\.cc'
only 'openssl/' 'runtime/dist/sha256\.cc'
only 'yaml-cpp|app/config/yaml\.h' 'app/config/(yaml|read|peek|nested|nested_yaml)\.(h|cc)'
only 'cairo' 'app/draw/'
only 'png\.h' 'data/formats/png\.cc'
only 'zlib\.h' 'data/arrays/unpack_zlib\.cc|tests/fuzz/mutate_png\.cc|tests/support/(zip|picture)_files\.cc'
only 'webp/' 'data/formats/webp\.cc|tests/support/picture_files\.cc'
only 'jpeglib\.h' 'data/formats/jpeg\.cc|tests/support/pictures\.cc'

# Two types of one name are one type to the linker, which keeps one destructor for both.
while IFS= read -r name; do
  complain "$name is defined in several headers: $(grep -rlE "^(struct|class|enum class) $name [^;]*\{" --include='*.h' \
    include graph runtime operators builders models data app tools | tr '\n' ' ')"
done < <(grep -rhoE '^(struct|class|enum class) [A-Za-z]+ [^;]*\{' --include='*.h' \
           include graph runtime operators builders models data app tools | sed -E 's/^(struct|class|enum class) //; s/ .*//' | sort | uniq -d)

# A test that is in no list is never built.
while IFS= read -r file; do
  grep -qF "$(basename "$(dirname "$file")")/$(basename "$file")" tests/CMakeLists.txt ||
    grep -qF "$(basename "$file")" "$(dirname "$file")/CMakeLists.txt" 2> /dev/null ||
    complain "$file: in no CMakeLists.txt"
done < <(find tests -name '*_test.cc')

[ $broken -eq 0 ] && echo "layers: in order"
exit $broken
