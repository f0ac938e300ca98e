// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/data.h"

#include "app/arrays/named_values.h"
#include "app/config/read.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

template <class T>
T value_or(const std::map<std::string, T>& values, const std::string& name, const T& otherwise) {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : found->second;
}

// Throws for a name that no array has: the value would have no effect.
template <class T>
void check_used(const char* key, const std::map<std::string, T>& values,
                const std::vector<FedArray>& fed) {
  std::vector<std::string> names;
  for (const FedArray& array : fed) names.push_back(array.name);
  for (const auto& [name, unused] : values)
    check(std::find(names.begin(), names.end(), name) != names.end(), Key{key}, " names '", name,
          "', but a step is fed ", listed(names));
}

Dims without_batch(const Dims& dims) { return {dims.begin() + 1, dims.end()}; }

}  // namespace

void check_names_of_arrays(const ArraysConfig& config, const std::vector<FedArray>& fed) {
  check_used("DATA.SOURCES", texts_of(config.sources), fed);
  check_used("DATA.PADDING", numbers_of(config.padding), fed);
}

std::unique_ptr<ArraySet> open_arrays(const ArraysConfig& config, const std::string& key,
                                      const std::string& path, const std::vector<FedArray>& fed) {
  const auto sources = texts_of(config.sources);
  const auto padding = numbers_of(config.padding);
  ArraySetOptions options;
  options.path = path;
  options.columns = columns_of(config.columns);
  options.buckets = config.buckets;
  for (const FedArray& array : fed)
    options.feeds.push_back({.name = array.name,
                             .source = value_or(sources, array.name, array.name),
                             .dtype = array.dtype,
                             .dims = array.dims,
                             .padding = value_or(padding, array.name, 0.0),
                             .buckets = {}});
  std::unique_ptr<ArraySet> set;
  naming(key, [&] { set = std::make_unique<ArraySet>(options); });
  check(set->size() > 0, Key{key}, ": ", path, " has no examples");
  return set;
}

std::vector<ExampleTypes> example_types(const ArraySet& set) {
  std::vector<ExampleTypes> forms;
  for (const MinibatchForm& form : set.forms(1)) {
    ExampleTypes& types = forms.emplace_back();
    for (const auto& [name, desc] : form) types[name] = {desc.dtype, without_batch(desc.dims)};
  }
  return forms;
}

std::string text_of_arrays(const ArraySet& set) {
  std::vector<std::string> texts;
  for (const ArrayFacts& feed : set.feeds()) {
    const std::string dims = join(feed.dims);
    texts.push_back(join(feed.name, " ", feed.dtype, feed.dims.empty() ? "" : dims));
  }
  return listed(texts);
}

std::size_t place_of(const ArraySet& set, const std::string& feed) {
  for (std::size_t i = 0; i < set.feeds().size(); ++i)
    if (set.feeds()[i].name == feed) return i;
  fail("internal: the data has no feed '", feed, "'");
}

WholeExamples::WholeExamples(std::unique_ptr<ArrayBatches> batches)
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
