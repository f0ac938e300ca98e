// SPDX-License-Identifier: Apache-2.0
// The value behind a name of a file that is being read: a tensor of the graph, a sequence of
// tensors, or an optional without an element. A graph has tensors only, so sequences and optionals
// exist while a file is read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

// The output of SplitToSequence. Its parts become nodes when they are read.
struct Split {
  Value data;
  int64_t axis = 0;
  std::vector<int64_t> sizes;  // of each part, or a single size for all parts
  bool one_for_all = false;
  bool squeezed = false;  // parts have size 1 and lose the axis
};

struct Sequence {
  std::vector<Value> parts = {};
  std::optional<Split> split = {};  // instead of `parts`
  Value joined = none;              // instead of `parts`: all of them along axis 0
  bool kept_axis = false;           // each joined part has a first axis of size 1
};

struct FlowValue {
  Value tensor = none;
  std::shared_ptr<const Sequence> sequence = {};
  bool absent = false;  // an optional without an element
};

}  // namespace lockstep
