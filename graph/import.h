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

// The model at our opset: as it is where its operators mean the same there, else through ONNX's
// version converter. Throws Unsupported where that does not serve.
onnx::ModelProto at_our_opset(onnx::ModelProto proto);

}  // namespace lockstep
