// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/prediction.h"

#include <algorithm>
#include <cstring>
#include <iostream>

#include "app/arrays/example_source.h"
#include "app/onnx/inference_run.h"
#include "app/onnx/network_part.h"
#include "app/onnx/tensor_files.h"
#include "app/predict/output_folder.h"
#include "graph/file_name.h"
#include "graph/limits.h"
#include "graph/listed.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr int64_t kArrayRowsAtATime = 64;

// Collects rows of an output over batches.
class Collected {
 public:
  Collected(std::string name, int64_t examples) : name_(std::move(name)), examples_(examples) {}

  void add(const Literal& batch, int64_t rows, int64_t of_batch, bool whole) {
    Dims dims = batch.dims();
    if (whole) dims.insert(dims.begin(), 1);
    check(!dims.empty() && dims[0] == of_batch, "the output '", name_, "' is ", batch.type(),
          " for ", of_batch, " examples; an output has a row for each example");
    Dims all = dims;
    all[0] = examples_;
    if (!rows_) {
      check_memory(element_count(all) * static_cast<int64_t>(size_of(batch.dtype())),
                   join("the output '", name_, "' of ", examples_, " examples"));
      rows_.emplace(batch.dtype(), all);
    }
    check(rows_->dims() == all, "the output '", name_, "' is ", batch.type(),
          ", but the examples before gave ", rows_->type());
    if (batch.count() == 0) return;
    const std::size_t bytes = batch.bytes().size() / of_batch * rows;
    std::memcpy(rows_->bytes().data() + written_, batch.bytes().data(), bytes);
    written_ += bytes;
  }
  const std::string& name() const { return name_; }
  const Literal& rows() const { return *rows_; }

 private:
  std::string name_;
  int64_t examples_;
  std::optional<Literal> rows_;
  std::size_t written_ = 0;
};

}  // namespace

std::vector<FedArray> fed_arrays(const Graph& graph, bool whole) {
  std::vector<FedArray> fed;
  for (Value input : fed_inputs(graph)) {
    FedArray& array = fed.emplace_back(FedArray{graph.name(input), graph.dtype(input)});
    const TensorType& type = graph.type(input);
    if (!type.ranked || (type.shape.empty() && !whole)) continue;
    array.dims.emplace();
    for (std::size_t i = whole ? 0 : 1; i < type.shape.size(); ++i)
      array.dims->push_back(type.shape[i].known() ? type.shape[i].size() : -1);
  }
  return fed;
}

int64_t rows_of_network(const Graph& graph, bool whole) {
  if (whole) return 1;
  for (Value input : fed_inputs(graph))
    if (const TensorType& type = graph.type(input);
        type.ranked && !type.shape.empty() && type.shape[0].known())
      return type.shape[0].size();
  return 0;
}

std::string description_of(const TrainingModel& network) {
  const Graph& graph = network.inference;
  const auto texts = [&](const std::vector<Value>& values) {
    std::vector<std::string> list;
    for (Value value : values) list.push_back(join(graph.name(value), " ", graph.type(value)));
    return listed(list);
  };
  return join("takes ", texts(fed_inputs(graph)), ", gives ", texts(graph.outputs()));
}

int predict_arrays(const TrainingModel& network, const std::string& /*path*/,
                   const TrainedData& data, const InferOptions& options) {
  check_out(options, "the outputs, as NAME.npy");
  check(options.files.size() == 1, "infer takes one folder or file of arrays, was given ",
        options.files.size());
  const Graph& graph = network.inference;
  const ArraysConfig& config = data.config;
  const std::vector<FedArray> fed = fed_arrays(graph, config.whole);
  const auto set = open_arrays(config, "infer", options.files[0], fed);
  OutputFolder folder(options.out);
  std::vector<Collected> outputs;
  std::vector<std::string> files;
  std::vector<std::size_t> kept;  // positions of outputs with a row for each example
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value output = graph.outputs()[i];
    if (!config.whole && graph.type(output).ranked && graph.shape(output).empty()) {
      std::cout << "left out: " << graph.name(output) << " " << graph.type(output)
                << " has no row for each example\n";
      continue;
    }
    kept.push_back(i);
    outputs.emplace_back(graph.name(output), set->size());
    files.push_back(file_name_of(graph.name(output)) + ".npy");
  }
  folder.check_replaceable(files);
  // One form for all examples, so that their outputs have one shape.
  std::size_t form = 0;
  for (int64_t i = 0; i < set->size(); ++i) form = std::max(form, set->form_of(i));
  const int64_t fixed = rows_of_network(graph, config.whole);
  const int64_t rows = fixed > 0 ? fixed : std::min(kArrayRowsAtATime, set->size());
  for (int64_t first = 0; first < set->size(); first += rows) {
    const int64_t count = std::min(rows, set->size() - first);
    const int64_t of_batch = fixed > 0 ? fixed : count;
    std::map<std::string, Literal> inputs;
    std::vector<Tensor> tensors;
    const std::vector<MinibatchForm> forms = set->forms(of_batch);
    for (const auto& [name, desc] : forms[form]) {
      Literal& input = inputs.emplace(name, Literal(desc.dtype, desc.dims)).first->second;
      tensors.push_back(view_of(input));
    }
    for (int64_t row = 0; row < of_batch; ++row)  // repeats examples where none is left
      set->read((first + row) % set->size(), row, tensors);
    if (config.whole)
      for (auto& [name, input] : inputs) {
        Dims dims(input.dims().begin() + 1, input.dims().end());
        Literal one(input.dtype(), dims);
        std::memcpy(one.bytes().data(), input.bytes().data(), input.bytes().size());
        input = std::move(one);
      }
    const std::vector<Literal> results = run_inference(graph, inputs, all_kernels());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      outputs[i].add(results[kept[i]], count, of_batch, config.whole);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    write_tensor(options.out, outputs[i].name(), outputs[i].rows());
    folder.list(files[i]);
    std::cout << options.out << "/" << files[i] << ": " << outputs[i].rows().type() << "\n";
  }
  return 0;
}

}  // namespace lockstep
