#include "runtime/state.h"

#include <algorithm>
#include <cstring>

#include "graph/graph.h"

namespace lockstep {

StateStore::StateStore(std::vector<std::string> names, std::vector<TensorDesc> descs)
    : names_(std::move(names)) {
  for (TensorDesc& desc : descs) {
    memory_.push_back(allocate(desc.bytes()));
    tensors_.push_back({std::move(desc), memory_.back().get()});
  }
}

const Tensor& StateStore::at(const std::string& name) const {
  auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    std::string near = nearest(name, names_);
    fail("there is no state '", name, "'", near.empty() ? "" : "; the nearest is '" + near + "'");
  }
  return tensors_[found - names_.begin()];
}

Literal StateStore::read(const std::string& name) const {
  const Tensor& tensor = at(name);
  Literal value(tensor.desc.dtype, tensor.desc.dims);
  if (!value.bytes().empty()) std::memcpy(value.bytes().data(), tensor.data, value.bytes().size());
  return value;
}

void StateStore::write(const std::string& name, const Literal& value) {
  const Tensor& tensor = at(name);
  check(tensor.desc.dtype == value.dtype() && tensor.desc.dims == value.dims(), "state '", name,
        "' is ", text_of(tensor.desc), ", it cannot take ", value.type());
  if (!value.bytes().empty()) std::memcpy(tensor.data, value.bytes().data(), value.bytes().size());
}

}  // namespace lockstep
