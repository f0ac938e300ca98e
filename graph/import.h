// GraphProto -> Graph. For io.cc.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/io.h"

namespace onnx {
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace lockstep {

struct ImportOptions {
  const OpSet& ops;
  std::string directory;                        // where external data lies
  std::set<std::string> states;                 // initializers that are state become graph inputs
  StateValues* values;                          // takes what those initializers hold, or null
  std::vector<const onnx::TensorProto*> outer;  // state that lives in the inference graph
};

// Nodes may come in any order; a cycle is an error that names its nodes.
Graph import_graph(const onnx::GraphProto& proto, const std::string& name,
                   const ImportOptions& options);

// Lists every operator that `ops` lacks, with node names, in one Error.
void check_known_operators(const onnx::ModelProto& proto, const OpSet& ops);

// Throws unless every standard operator means at opset `version` what it means at ours.
void check_unchanged_operators(const onnx::GraphProto& proto, int64_t version,
                               const std::string& path);

}  // namespace lockstep
