// SPDX-License-Identifier: Apache-2.0
// One item of a minibatch: its row of each tensor, by name.
#pragma once

#include <span>
#include <string_view>

#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "lockstep/loader.h"

namespace lockstep {

class FeedRow {
 public:
  // `tensors` are in the order of `form`; both must outlive this object.
  FeedRow(const MinibatchForm& form, std::span<const Tensor> tensors, int64_t item)
      : form_(form), tensors_(tensors), item_(item) {}

  // The item's numbers. Throws if there is no such tensor, or if it has another type.
  template <class T>
  std::span<T> of(std::string_view name) const {
    for (std::size_t i = 0; i < form_.size(); ++i) {
      const auto& [known, desc] = form_[i];
      if (known != name) continue;
      check(desc.dtype == dtype_of<T>(), "the feed '", name, "' has the type ", desc.dtype);
      const int64_t count = desc.count() / desc.dims[0];
      return {tensors_[i].as<T>() + item_ * count, static_cast<std::size_t>(count)};
    }
    fail("a minibatch has no feed '", name, "'");
  }

 private:
  const MinibatchForm& form_;
  std::span<const Tensor> tensors_;
  int64_t item_;
};

}  // namespace lockstep
