// From an element type known at plan time to a template argument.
#pragma once

#include "graph/error.h"
#include "graph/literal.h"
#include "runtime/kernel.h"

namespace lockstep {

// Calls make.operator()<T>() for the T of `Types` that `dtype` names; throws for any other type.
template <class... Types, class Make>
std::unique_ptr<Kernel> dispatch(DType dtype, Make&& make) {
  std::unique_ptr<Kernel> kernel;
  auto try_type = [&]<class T>() {
    if (dtype == dtype_of<T>()) kernel = make.template operator()<T>();
  };
  (try_type.template operator()<Types>(), ...);
  supported(kernel != nullptr, "has no CPU kernel for ", dtype);
  return kernel;
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
