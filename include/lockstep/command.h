// SPDX-License-Identifier: Apache-2.0
// The program `lockstep` as a function. A program that calls it has every command, also for data
// sets of its own: docs/from_cpp.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/loader.h"

namespace lockstep {

// A tensor that a network is fed: an input, a target or a mask.
struct AskedTensor {
  std::string name;
  // The element type that the network takes; undefined: any.
  DType dtype = DType::undefined;
  // The dimensions of an example, without the batch; -1 for any number. Nothing: all are open.
  std::optional<Dims> dims = std::nullopt;
};

// The minibatches of a training run, and this process's rows of each.
struct OwnBatches {
  int64_t batch = 32;            // examples of a step, over all processes
  int64_t first = 0, count = 0;  // this process's rows
  uint64_t seed = 1;
  bool shuffle = true;  // DATA.SHUFFLE
};

// A data set of a program. All functions are called by several threads at once.
class OwnDataSet {
 public:
  virtual ~OwnDataSet() = default;

  // The number of examples that a test tests, or of an epoch; from 1 to 2^31 - 1.
  virtual int64_t size() const = 0;
  // A text that differs if the examples do: a run is not resumed with another text. "": the text of
  // DATA.TRAIN or DATA.TEST decides.
  virtual std::string digest() const { return ""; }

  // The tensors of `count` examples; `count` is the first dimension of each. There may be several
  // forms, the smallest first, for examples of uneven sizes. All forms have the same names and
  // element types, and each tensor that is asked for. Other tensors are ignored.
  virtual std::vector<MinibatchForm> forms(int64_t count) const = 0;
  // The index of the smallest form that fits the example.
  virtual std::size_t form_of(int64_t) const { return 0; }
  // Writes example 0 to size() - 1 as row `row` of the tensors, in the order of a form that fits. A
  // test reads the examples in order.
  virtual void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const = 0;

  // The minibatches, with the tensors and shapes of forms(options.count). Null: read() the examples
  // of each epoch in a random order, or in order. A set without end returns a source that makes the
  // rows of a step from the seed, the step and the row alone. The set outlives the source.
  virtual std::unique_ptr<MinibatchSource> minibatches(const OwnBatches&) const { return nullptr; }
};

// The configuration of a data set.
struct OwnDataRequest {
  bool held_out = false;             // the set of DATA.TEST; otherwise of DATA.TRAIN
  std::string text;                  // the value of this key; its meaning is the source's
  std::vector<AskedTensor> tensors;  // that the forms must have
  uint64_t seed = 1;                 // RNG_SEED
};

struct OwnDataSource {
  std::string name;     // of DATA.NAME: letters, digits and _
  std::string meaning;  // for `lockstep keys`: "numbers of a regression"
  // Throws for a text that it does not understand; check() and fail() of error.h write errors.
  std::function<std::unique_ptr<OwnDataSet>(const OwnDataRequest& request)> open;
};

// Runs the command line of `lockstep`, in which DATA.NAME may be the name of a source. Prints
// errors, and returns the exit code: 0 done, 1 internal failure, 2 an error that the user can fix.
// Call it once, from main().
int run_command(int argc, char** argv, const std::vector<OwnDataSource>& sources = {});

}  // namespace lockstep
