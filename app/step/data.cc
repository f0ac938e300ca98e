// SPDX-License-Identifier: Apache-2.0
#include "app/step/data.h"

#include <filesystem>
#include <numeric>
#include <set>
#include <vector>

#include "app/onnx/network_part.h"
#include "app/onnx/tensor_files.h"
#include "data/arrays/array_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

using Literals = std::map<std::string, Literal>;

// Inputs with a first dimension that may be the batch: a symbol. In a network of fixed sizes, all
// inputs with dimensions.
std::vector<Value> inputs_with_rows(const Graph& graph) {
  std::vector<Value> open, fixed;
  for (Value input : fed_inputs(graph))
    if (const Shape& shape = graph.shape(input); !shape.empty())
      (shape[0].known() ? fixed : open).push_back(input);
  return open.empty() ? fixed : open;
}

// The rows of a step, and the inputs with these rows. An input has the rows if its first dimension
// is the batch's symbol, or another symbol of equal size. In a network of fixed sizes, an input has
// the rows if it is as large as the first input.
struct WholeBatch {
  int64_t rows = 0;
  std::set<std::string> inputs;
};

WholeBatch batch_of(const Graph& graph, const Literals& inputs) {
  const std::vector<Value> candidates = inputs_with_rows(graph);
  WholeBatch batch;
  if (candidates.empty()) return batch;
  const auto rows_of = [&](Value input) { return inputs.at(graph.name(input)).dims()[0]; };
  const Value first = candidates[0];
  batch.rows = rows_of(first);
  for (Value input : candidates) {
    const Dim& declared = graph.shape(input)[0];
    check(declared.known() || declared != graph.shape(first)[0] || rows_of(input) == batch.rows,
          "'", graph.name(input), "' has ", rows_of(input), " rows, but '", graph.name(first),
          "' has ", batch.rows, "; both are declared ", Shape{declared});
    if (rows_of(input) == batch.rows) batch.inputs.insert(graph.name(input));
  }
  return batch;
}

// True if the path leads to a set of arrays, and not to a folder with a tensor for each input:
// lengths of examples, or files that are no tensors while an input has no file.
bool is_set(const Graph& graph, const std::string& path) {
  if (!fs::is_directory(path)) return fs::exists(path);
  bool has_all = true;
  for (Value input : fed_inputs(graph)) {
    const std::string file = file_of_input(graph, input, path);
    has_all = has_all && !file.empty();
    const std::string lengths = fs::path(file).stem().string() + ".lengths";
    if (!graph.find(graph.name(input) + ".lengths") &&
        fs::exists(fs::path(path) / (lengths + ".npy")))
      return true;
  }
  return !has_all && has_files_of_sets(path);
}

// An array may have the position of its input as its name, as the file of a tensor may.
std::string source_of(const Graph& graph, Value input, const std::string& path) {
  if (!fs::is_directory(path)) return "";
  const fs::path file = file_of_input(graph, input, path);
  const bool by_position = file.extension() == ".npy" && file.stem().string().starts_with("input_");
  return by_position && !graph.find(file.stem().string()) ? file.stem().string() : "";
}

ArrayFeed feed_of(const Graph& graph, Value input, const std::string& path) {
  Dims dims;
  const Shape& shape = graph.shape(input);
  for (std::size_t i = 1; i < shape.size(); ++i)
    dims.push_back(shape[i].known() ? shape[i].size() : -1);
  return {.name = graph.name(input),
          .source = source_of(graph, input, path),
          .dtype = graph.dtype(input),
          .dims = dims,
          .buckets = {}};
}

// An input that is the same in every step.
Literal read_without_rows(const Graph& graph, Value input, const StepDataOptions& options) {
  const std::string& name = graph.name(input);
  const bool is_folder = fs::is_directory(options.path);
  const std::string file = is_folder ? file_of_input(graph, input, options.path) : "";
  check(!file.empty(), options.path, ": the input '", name, "' ", graph.type(input),
        " has no rows, so it is no array of the set; ",
        is_folder ? "" : "put the arrays into a folder, and ", "save it as ", name,
        ".npy in the folder");
  return read_input(graph, input, (fs::path(options.path) / file).string(), options.declared);
}

// The rows of each step. A network may fix them.
int64_t rows_of_steps(const Graph& graph, Value first, const StepDataOptions& options,
                      int64_t examples) {
  check(examples > 0, options.path, ": the batch is empty: the arrays have no rows");
  check(options.batch <= examples, "--batch is ", options.batch, ", but ", options.path, " has ",
        examples, examples == 1 ? " row" : " rows");
  const int64_t rows = options.batch > 0 ? options.batch : examples;
  const Dim& declared = graph.shape(first)[0];
  check(!declared.known() || declared.size() == rows, "the network takes ", declared.size(),
        " rows in a step ('", graph.name(first), "' is ", graph.type(first), "), but ",
        options.batch > 0 ? join("--batch is ", rows)
                          : join(options.path, " has ", rows, "; set --batch ", declared.size()));
  return rows;
}

}  // namespace

StepData::StepData(const Graph& graph, const StepDataOptions& options) {
  if (options.batch > 0 || is_set(graph, options.path)) {
    open_set(graph, options);
    return;
  }
  values_ = read_inputs(graph, options.path, options.declared);
  rows_ = batch_of(graph, values_).rows;
}

void StepData::open_set(const Graph& graph, const StepDataOptions& options) {
  std::vector<Value> with_rows = inputs_with_rows(graph);
  check(!with_rows.empty(), options.path,
        ": no input of the network has rows, so it can take no "
        "set of arrays; save each input as NAME.npy in a folder, and omit --batch");
  const Dim first = graph.shape(with_rows[0])[0];
  if (first.known())
    std::erase_if(with_rows, [&](Value input) { return graph.shape(input)[0] != first; });
  ArraySetOptions of_set{.path = options.path};
  for (Value input : with_rows) of_set.feeds.push_back(feed_of(graph, input, options.path));
  set_ = std::make_unique<ArraySet>(of_set);
  rows_ = rows_of_steps(graph, with_rows[0], options, set_->size());
  batches_ =
      std::make_unique<ArrayBatches>(*set_, ArrayBatchOptions{.batch = rows_, .shuffle = false});
  period_ = set_->size() / std::gcd(set_->size(), rows_);
  for (const NamedDesc& tensor : batches_->forms().at(0))
    values_.emplace(tensor.name, Literal(tensor.desc.dtype, tensor.desc.dims));
  for (Value input : fed_inputs(graph))
    if (!values_.contains(graph.name(input)))
      values_.emplace(graph.name(input), read_without_rows(graph, input, options));
}

const std::map<std::string, Literal>& StepData::at(int64_t step) {
  if (!set_) return values_;
  std::vector<Tensor> tensors;
  for (const NamedDesc& tensor : batches_->forms().at(0))
    tensors.push_back({tensor.desc, values_.at(tensor.name).bytes().data()});
  for (int64_t item = 0; item < batches_->items(); ++item)
    batches_->read(step % period_, item, tensors);
  return values_;
}

std::map<std::string, TensorType> types_of_shares(const Graph& graph, const Literals& inputs,
                                                  int64_t replicas, int64_t parts) {
  const WholeBatch batch = batch_of(graph, inputs);
  check(batch.rows > 0 || batch.inputs.empty(), "the batch is empty: an input has no rows");
  check(batch.rows % (replicas * parts) == 0, "a batch of ", batch.rows,
        " cannot be split equally over ", replicas, " devices",
        parts == 1 ? "" : join(" with ", parts, " micro-batches each"));
  std::map<std::string, TensorType> types;
  for (const auto& [name, value] : inputs) {
    Dims dims = value.dims();
    if (batch.inputs.contains(name)) dims[0] /= replicas * parts;
    types[name] = {value.dtype(), to_shape(dims)};
  }
  return types;
}

}  // namespace lockstep
