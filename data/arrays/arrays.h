// SPDX-License-Identifier: Apache-2.0
// Data sets of arrays in files: the arrays of a folder or a file by name, read by example, and
// their minibatches. docs/array_files.md describes the files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/loader.h"

namespace lockstep {

// A tensor that a network asks for.
struct ArrayFeed {
  std::string name = "";    // of the tensor in a minibatch
  std::string source = "";  // the array in the files, or X.mask of a ragged array X; "": `name`
  // The element type; undefined: as stored. A mask has any type, by default float32.
  DType dtype = DType::undefined;
  // The dimensions of an example, without the batch; -1 for any number. Nothing: as stored.
  // Dimensions of 1 may be added or left out; columns of a CSV file take any shape of their number.
  std::optional<Dims> dims = std::nullopt;
  double padding = 0;  // the value behind the end of a ragged example
  // The lengths of a ragged feed in each bucket; empty: the set's buckets. The i-th buckets of all
  // feeds belong together.
  std::vector<int64_t> buckets = {};
};

struct ArraySetOptions {
  // A folder, or a .npy, .npz, .safetensors or .csv file.
  std::string path = "";
  // Empty: all arrays, as stored.
  std::vector<ArrayFeed> feeds = {};
  // The columns of an array in CSV files; other arrays F have the column F, or F.0, F.1, .. or
  // F[0], F[1], ..
  std::map<std::string, std::vector<std::string>> columns = {};
  // Ascending lengths to which ragged examples are padded, the last at least the longest example's;
  // empty: the longest example's length.
  std::vector<int64_t> buckets = {};
  // The bytes up to which a set is kept in memory; a larger set is read as needed, and has the same
  // tensors. -1: a quarter of the usable memory.
  int64_t memory = -1;
  // The folder of the temporary file for decoded arrays (CSV, deflated) beyond `memory`; the file
  // has no name and vanishes with the process. "": the folder in TMPDIR, or /var/tmp.
  std::string scratch = "";
};

// An array as a feed gets it.
struct ArrayFacts {
  std::string name = "";    // of the feed
  std::string source = "";  // of the array
  DType dtype = DType::undefined;
  Dims dims = {};          // of an example; a ragged array's first is -1
  std::string file = "";   // the first one
  bool is_ragged = false;  // or the mask of a ragged array
};

// Opened files. All functions are thread-safe.
class ArraySet {
 public:
  // Throws an error that names the file, and the row if there is one, for files that are missing,
  // damaged or do not fit to each other or to the feeds.
  explicit ArraySet(const ArraySetOptions& options);
  ~ArraySet();
  ArraySet(const ArraySet&) = delete;

  int64_t size() const;  // examples
  const std::vector<ArrayFacts>& feeds() const;
  bool is_held() const;  // in memory
  // The digest of names, types, shapes, sizes and samples of the contents. Does not depend on the
  // folder.
  std::string digest() const;

  // The shapes of `count` examples in each bucket; one form if no feed is ragged.
  std::vector<MinibatchForm> forms(int64_t count) const;
  // The index of the smallest form that fits the example; 0 if no feed is ragged.
  std::size_t form_of(int64_t example) const;
  // Writes the example as row `row` of the tensors, which have the shapes of a form that fits.
  void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const;
  // The same for several examples, as rows from `row` on.
  void read(std::span<const int64_t> examples, int64_t row, std::span<const Tensor> tensors) const;
  // Examples `first` to `first` + `count` in the order of the files, by feed, padded to the
  // smallest bucket that fits. Throws for examples beyond the end.
  std::vector<Literal> examples(int64_t first, int64_t count) const;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

struct ArrayBatchOptions {
  int64_t batch = 64;
  // The process's part of each batch.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  bool shuffle = true;  // false: in the order of the files, epoch after epoch
};

// Minibatches of a set. Each step has the smallest form that fits the examples of all processes.
class ArrayBatches final : public MinibatchSource {
 public:
  // `set` must outlive this object.
  ArrayBatches(const ArraySet& set, const ArrayBatchOptions& options);
  ~ArrayBatches() override;

  const std::vector<MinibatchForm>& forms() const override;
  std::size_t form(int64_t step) const override;
  int64_t items() const override;  // several rows each, if rows are short
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

  // The examples of all rows of a step.
  std::vector<int64_t> examples_of(int64_t step) const;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace lockstep
