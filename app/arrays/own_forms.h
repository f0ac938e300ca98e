// SPDX-License-Identifier: Apache-2.0
// The forms of a program's data set, and the tensors in them that a network is fed.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/command.h"
#include "lockstep/tensor.h"

namespace lockstep {

// The places of the asked tensors in the forms of a set.
class ChosenTensors {
 public:
  // `fed`: the names in a step. Throws for a tensor that the form does not have.
  ChosenTensors(const MinibatchForm& form, const std::vector<AskedTensor>& asked,
                const std::vector<std::string>& fed);

  MinibatchForm form(const MinibatchForm& whole) const;
  bool is_whole(const MinibatchForm& whole) const;
  // Calls `write` with all tensors of the form: `chosen`, and memory for the others, whose contents
  // nobody reads. Each call has memory of its own, since several threads write.
  template <class Write>
  void write(const MinibatchForm& whole, std::span<const Tensor> chosen, const Write& write) const {
    if (is_whole(whole)) return write(chosen);
    std::vector<Literal> others(whole.size());
    std::vector<Tensor> all(whole.size());
    for (std::size_t i = 0; i < places_.size(); ++i) all[places_[i]] = chosen[i];
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (std::find(places_.begin(), places_.end(), i) != places_.end()) continue;
      others[i] = Literal(whole[i].desc.dtype, whole[i].desc.dims);
      all[i] = view_of(others[i]);
    }
    write(std::span<const Tensor>(all));
  }

 private:
  std::vector<std::string> fed_;     // by asked tensor: the name in a step
  std::vector<std::size_t> places_;  // by asked tensor
};

// Checks a form against the first form and the number of rows.
void check_form(const MinibatchForm& form, const MinibatchForm& first, int64_t count);
// Checks a chosen tensor against the network.
void check_asked(const NamedDesc& own, const AskedTensor& asked);

}  // namespace lockstep
