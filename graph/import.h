// GraphProto -> Graph. For load.cc.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/io.h"
#include "graph/onnx.h"

namespace onnx {
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace lockstep {

struct ImportOptions {
  const OpSet& ops;
  DataPlace place;                              // where external data lies
  std::set<std::string> states;                 // initializers that are state become graph inputs
  StateValues* values;                          // takes what those initializers hold, or null
  std::vector<const onnx::TensorProto*> outer;  // state that lives in the inference graph
  int64_t opset = kOpset;                       // that the nodes are written in
};

// Nodes may come in any order; a cycle is an error that names its nodes. They move into the graph.
Graph import_graph(onnx::GraphProto& proto, const std::string& name, const ImportOptions& options);

// Lists every operator that `ops` lacks, with node names, in one Error.
void check_known_operators(const onnx::ModelProto& proto, const OpSet& ops);

// Of ONNX's own operators in this file; -1 where the file names none. Throws where this or the
// file's IR version is newer than what is read.
int64_t opset_of(const onnx::ModelProto& proto);

}  // namespace lockstep
