// SPDX-License-Identifier: Apache-2.0
// Minibatches of named tensors: a MinibatchSource makes them, and a Loader reads them ahead. A
// minibatch is made item by item, so that several threads can share the work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/tensor.h"

namespace lockstep {

struct NamedDesc {
  std::string name;
  TensorDesc desc;
};
// The tensors of a step, all rows of this process.
using MinibatchForm = std::vector<NamedDesc>;

// The minibatches of a training run, for the rows of this process. A minibatch depends on the seed
// and the numbers of step and item alone, so any step can be reached without the steps before it.
class MinibatchSource {
 public:
  virtual ~MinibatchSource() = default;

  // All functions must be thread-safe.

  // Every step has one of these forms, which differ in shapes alone.
  virtual const std::vector<MinibatchForm>& forms() const = 0;
  // The index of the step's form in forms().
  virtual std::size_t form(int64_t step) const = 0;
  // The number of items of every step, such as its images.
  virtual int64_t items() const = 0;
  // Writes the item's rows into the step's tensors, in the order of its form. Several threads may
  // write different items at the same time.
  virtual void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const = 0;
};

// The reading of one item by a thread of a loader, in nanoseconds of the steady clock.
struct ItemSpan {
  int thread = 0;
  int64_t step = 0, item = 0;
  int64_t begins = 0, ends = 0;
};

// Reads minibatches ahead. The contents of a minibatch depend on its source and step only, never on
// the number of threads or on which thread reads an item.
class Loader {
 public:
  static constexpr int64_t kAhead = 3;  // minibatches in memory: one in use, the others being read

  // Starts the threads, at least one. Throws if they cannot be started. `source` must outlive the
  // loader.
  Loader(const MinibatchSource& source, int threads);
  ~Loader();
  Loader(const Loader&) = delete;

  // The tensors of training step `step`, in the order of its form, valid until the next call.
  // Ascending steps are read ahead; for any other step reading restarts there. Rethrows errors from
  // reading an item.
  std::span<const Tensor> get(int64_t step);
  // True if `step` follows the step of the last get(), and get() would return without waiting.
  bool is_ready(int64_t step);
  // The number of whole minibatches that are read and waiting for the next calls of get().
  int64_t queue();

  // Starts or ends to record the reading of items. Returns the items recorded since the last call.
  std::vector<ItemSpan> record(bool on);

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace lockstep
