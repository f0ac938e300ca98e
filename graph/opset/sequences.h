// SPDX-License-Identifier: Apache-2.0
// Sequences as exporters write them: SplitToSequence, then SequenceAt for each part. Lockstep has
// no sequences, so each part becomes a Slice of the split tensor.
#pragma once

#include <map>
#include <string>

#include "graph/graph_members.h"
#include "lockstep/graph.h"

namespace lockstep {

class SplitSequences {
 public:
  static bool knows(const std::string& type);  // SplitToSequence or SequenceAt

  // Accepts a node of either type. The result of SequenceAt is in the graph afterwards.
  void adopt(Graph& graph, onnx::NodeProto proto, int64_t opset);

 private:
  struct Split {
    Value data;
    int64_t axis = 0;
    std::vector<int64_t> sizes;  // of each part, or a single size for all parts
    bool one_for_all = false;
    bool squeezed = false;  // parts have size 1 and lose the axis
  };
  std::map<std::string, Split> splits_;  // by the sequence's name
};

}  // namespace lockstep
