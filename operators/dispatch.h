// From an element type known at plan time to a template argument.
#pragma once

#include <optional>

#include "graph/error.h"
#include "graph/literal.h"
#include "runtime/kernel.h"

namespace lockstep {

// What make.operator()<T>() returns for the T of the types that `dtype` names; throws for any
// other.
template <class First, class... Types, class Make>
auto dispatch(DType dtype, Make&& make) {
  std::optional<decltype(make.template operator()<First>())> made;
  auto try_type = [&]<class T>() {
    if (dtype == dtype_of<T>()) made = make.template operator()<T>();
  };
  try_type.template operator()<First>();
  (try_type.template operator()<Types>(), ...);
  supported(made.has_value(), "has no CPU kernel for ", dtype);
  return std::move(*made);
}

// The same for what is only moved: a type that stands for all of its size.
template <class Make>
std::unique_ptr<Kernel> of_size(DType dtype, Make&& make) {
  switch (size_of(dtype)) {
    case 1:
      return make.template operator()<uint8_t>();
    case 2:
      return make.template operator()<uint16_t>();
    case 4:
      return make.template operator()<uint32_t>();
    default:
      return make.template operator()<uint64_t>();
  }
}

}  // namespace lockstep
