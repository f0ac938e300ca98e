// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/example_types.h"

#include "app/arrays/fed_names.h"
#include "app/arrays/named_values.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

Dims without_batch(const Dims& dims) { return {dims.begin() + 1, dims.end()}; }

}  // namespace

void check_names_of_arrays(const ArraysConfig& config, const std::vector<FedArray>& fed) {
  check_fed("DATA.SOURCES", texts_of(config.sources), fed);
  check_fed("DATA.PADDING", numbers_of(config.padding), fed);
  const auto sources = texts_of(config.sources);
  std::vector<FedArray> arrays = fed;
  for (FedArray& array : arrays) array.name = value_or(sources, array.name, array.name);
  check_fed("DATA.COLUMNS", columns_of(config.columns), arrays);
}

std::vector<ExampleTypes> example_types(const ExampleSet& set) {
  std::vector<ExampleTypes> forms;
  for (const MinibatchForm& form : set.forms(1)) {
    ExampleTypes& types = forms.emplace_back();
    for (const auto& [name, desc] : form) types[name] = {desc.dtype, without_batch(desc.dims)};
  }
  return forms;
}

std::size_t place_of(const MinibatchForm& form, const std::string& feed) {
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i].name == feed) return i;
  fail("internal: the data has no feed '", feed, "'");
}

WholeExamples::WholeExamples(std::unique_ptr<MinibatchSource> batches)
    : batches_(std::move(batches)), forms_(batches_->forms()) {
  for (MinibatchForm& form : forms_)
    for (NamedDesc& tensor : form) tensor.desc.dims = without_batch(tensor.desc.dims);
}

void WholeExamples::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  std::vector<Tensor> rows(tensors.begin(), tensors.end());
  for (Tensor& row : rows) row.desc.dims.insert(row.desc.dims.begin(), 1);
  batches_->read(step, item, rows);
}

}  // namespace lockstep
