// SPDX-License-Identifier: Apache-2.0
// The data of steps: one tensor for each input of a network, in each step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "data/arrays/arrays.h"
#include "lockstep/attributes.h"
#include "lockstep/graph.h"

namespace lockstep {

struct StepDataOptions {
  // A folder with a tensor for each input (app/onnx/tensor_files.h), or a set of arrays
  // (data/arrays/arrays.h).
  std::string path = "";
  int64_t batch = 0;  // rows of a step; 0: all
  // The types of inputs in their files, if the graph has others.
  std::map<std::string, TensorType> declared = {};
};

class StepData {
 public:
  // Throws an error that names the file, the input or --batch.
  StepData(const Graph& graph, const StepDataOptions& options);

  // The inputs of step number `step`, by name; valid until the next call. A set with fewer rows
  // than the steps before have read begins again.
  const std::map<std::string, Literal>& at(int64_t step);

  int64_t rows() const { return rows_; }  // of a step; 0: no input has rows

 private:
  void open_set(const Graph& graph, const StepDataOptions& options);

  int64_t rows_ = 0;
  std::map<std::string, Literal> values_;
  std::unique_ptr<ArraySet> set_;  // null: the same tensors in every step
  std::unique_ptr<ArrayBatches> batches_;
  int64_t period_ = 1;  // steps until the rows repeat
};

// The types of the inputs of one share, of `replicas` times `parts` equal shares of a step's rows.
// An input without rows goes to every share.
std::map<std::string, TensorType> types_of_shares(const Graph& graph,
                                                  const std::map<std::string, Literal>& inputs,
                                                  int64_t replicas, int64_t parts);

}  // namespace lockstep
