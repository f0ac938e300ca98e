// SPDX-License-Identifier: Apache-2.0
#include "lockstep/types.h"

#include <limits>
#include <ostream>

#include "lockstep/error.h"

namespace lockstep {
namespace {

template <class List, class Print>
std::string bracketed(const List& list, Print print) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += ",";
    text += print(list[i]);
  }
  return text + "]";
}

}  // namespace

int64_t element_count(const Dims& dims) {
  int64_t count = 1;
  for (int64_t size : dims) {
    check(size >= 0, "negative dimension in shape ", dims);
    check(size == 0 || count <= std::numeric_limits<int64_t>::max() / 16 / size, "shape ", dims,
          " has more elements than memory can hold");
    count *= size;
  }
  return count;
}

std::string text_of(const Dims& dims) {
  return bracketed(dims, [](int64_t size) { return std::to_string(size); });
}

Shape to_shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

bool is_static(const Shape& shape) {
  for (const Dim& dim : shape)
    if (!dim.known()) return false;
  return true;
}

Dims to_dims(const Shape& shape) {
  Dims dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape) {
    check(dim.known(), "shape ", shape, " has the unbound dimension '", dim.symbol(),
          "'; feed a tensor that binds it");
    dims.push_back(dim.size());
  }
  return dims;
}

std::string text_of(const Shape& shape) {
  return bracketed(shape, [](const Dim& dim) {
    return dim.symbol().empty() ? std::to_string(dim.size()) : dim.symbol();
  });
}

std::string text_of(const TensorType& type) {
  return std::string(name_of(type.dtype)) + (type.ranked ? text_of(type.shape) : "[..]");
}

std::ostream& operator<<(std::ostream& out, const TensorType& type) { return out << text_of(type); }

}  // namespace lockstep
