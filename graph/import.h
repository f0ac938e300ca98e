// SPDX-License-Identifier: Apache-2.0
// GraphProto -> Graph. For load.cc.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/onnx.h"
#include "graph/passes/fold.h"
#include "lockstep/graph.h"
#include "lockstep/model_files.h"

namespace onnx {
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace lockstep {

struct ImportOptions {
  const OpSet& ops;
  DataPlace place;                              // folders of external data
  std::set<std::string> states;                 // initializers that become graph inputs: the state
  StateValues* values;                          // receives the contents of `states`, or null
  std::vector<const onnx::TensorProto*> outer;  // initializers of the inference graph
  int64_t opset = kOpset;                       // the opset of the nodes
  Folder folder = {};                           // computes conditions; see flow/conditions.h
  std::vector<std::string>* inner = nullptr;    // receives the names of subgraphs' initializers
};

// Nodes may come in any order; a cycle is an error that names its nodes. Nodes are moved into the
// graph.
Graph import_graph(onnx::GraphProto& proto, const std::string& name, const ImportOptions& options);

// Throws one Error that lists all operators missing from `ops`, with node names. Ignores subgraphs:
// only some of their nodes may be needed.
void check_known_operators(const onnx::ModelProto& proto, const OpSet& ops);
void check_known_operators(const onnx::GraphProto& proto, const OpSet& ops, int64_t opset);

// The opset of ONNX's own operators in this file; -1 if the file names none. Throws if it or the
// file's IR version is newer than supported.
int64_t opset_of(const onnx::ModelProto& proto);

}  // namespace lockstep
