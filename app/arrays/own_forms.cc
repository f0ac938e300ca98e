// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/own_forms.h"

#include "app/arrays/example_set.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {

ChosenTensors::ChosenTensors(const MinibatchForm& form, const std::vector<AskedTensor>& asked,
                             const std::vector<std::string>& fed)
    : fed_(fed) {
  for (const AskedTensor& tensor : asked) {
    const auto found = std::find_if(form.begin(), form.end(),
                                    [&](const NamedDesc& own) { return own.name == tensor.name; });
    check(found != form.end(), "the data set has no '", tensor.name,
          "', which the network is fed; it has ", listed(names_of_rows(form)));
    places_.push_back(static_cast<std::size_t>(found - form.begin()));
  }
}

MinibatchForm ChosenTensors::form(const MinibatchForm& whole) const {
  MinibatchForm chosen;
  for (std::size_t i = 0; i < places_.size(); ++i)
    chosen.push_back({fed_[i], whole[places_[i]].desc});
  return chosen;
}

bool ChosenTensors::is_whole(const MinibatchForm& whole) const {
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i] != i) return false;
  return places_.size() == whole.size();
}

void check_form(const MinibatchForm& form, const MinibatchForm& first, int64_t count) {
  check(form.size() == first.size(), "a form has ", form.size(), " tensors, the first form ",
        first.size());
  for (std::size_t i = 0; i < form.size(); ++i) {
    const auto& [name, desc] = form[i];
    check(name == first[i].name && desc.dtype == first[i].desc.dtype, "tensor ", i,
          " of a form is '", name, "' (", desc.dtype, "), of the first form '", first[i].name,
          "' (", first[i].desc.dtype, ")");
    check(desc.dtype != DType::undefined, "'", name, "' has no element type");
    check(!desc.dims.empty() && desc.dims[0] == count, "'", name, "' is ", desc.dims, " for ",
          count, " examples, should begin with ", count);
    check(std::all_of(desc.dims.begin(), desc.dims.end(), [](int64_t size) { return size > 0; }),
          "'", name, "' is ", desc.dims, ", but each size should be at least 1");
    for (std::size_t k = 0; k < i; ++k)
      check(form[k].name != name, "two tensors are named '", name, "'");
  }
}

void check_asked(const NamedDesc& own, const AskedTensor& asked) {
  check(asked.dtype == DType::undefined || asked.dtype == own.desc.dtype, "'", own.name, "' is ",
        own.desc.dtype, ", but the network takes ", asked.dtype);
  if (!asked.dims) return;
  const Dims example(own.desc.dims.begin() + 1, own.desc.dims.end());
  check(dims_fit(asked.dims, example), "an example of '", own.name, "' is ", example,
        ", but the network takes ", *asked.dims, " (-1: any number)");
}

}  // namespace lockstep
