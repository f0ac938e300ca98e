// SPDX-License-Identifier: Apache-2.0
// A data set of the task `arrays`: examples of named tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/transform.h"
#include "lockstep/loader.h"
#include "lockstep/types.h"

namespace lockstep {

// A tensor that a step is fed.
struct FedArray {
  std::string name;
  DType dtype = DType::undefined;  // undefined: any type
  // The dimensions of an example, -1 for open ones. Nothing: all are open.
  std::optional<Dims> dims = {};
  bool casts = false;  // the step takes other types, too, and casts them to `dtype`
  double padding = 0;  // behind the end of a ragged example, unless the configuration says another
};

// True if an example of these dimensions is wanted.
inline bool dims_fit(const std::optional<Dims>& wanted, const Dims& given) {
  if (!wanted) return true;
  if (wanted->size() != given.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i)
    if ((*wanted)[i] >= 0 && (*wanted)[i] != given[i]) return false;
  return true;
}

// The minibatches of a training run, and this process's rows of each.
struct ExampleBatches {
  int64_t batch = 32;
  int64_t first = 0, count = -1;  // -1: to the end
  uint64_t seed = 1;
  bool shuffle = true;
};

// All functions are thread-safe.
class ExampleSet {
 public:
  virtual ~ExampleSet() = default;

  virtual int64_t size() const = 0;
  // A digest of the examples; "": the keys of the configuration determine them.
  virtual std::string digest() const = 0;
  // "x float32[13], y float32[1]"
  virtual std::string description() const = 0;

  // The tensors of `count` examples in each form; forms differ in shapes alone.
  virtual std::vector<MinibatchForm> forms(int64_t count) const = 0;
  // The index of the smallest form that fits the example.
  virtual std::size_t form_of(int64_t) const { return 0; }
  // Writes the example as row `row` of the tensors of a form, as a test sees the example.
  virtual void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const = 0;
  // The set must outlive the result.
  virtual std::unique_ptr<MinibatchSource> minibatches(const ExampleBatches& options) const = 0;

  // The example's name for people: "17", "cat.jpg".
  virtual std::string name_of(int64_t example) const { return std::to_string(example); }
  // How the set makes tensors of pictures; nothing: its tensors may be anything.
  virtual std::optional<Preparation> preparation() const { return std::nullopt; }
};

}  // namespace lockstep
