// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "operators/fill/fill.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

template <class T>
struct Fill {
  T value;
  T* y;
  __device__ void operator()(int64_t i) const { y[i] = value; }
};

std::unique_ptr<Kernel> prepare_constant_of_shape(const KernelRequest& request) {
  const Literal value = request.attributes().literal("value", Literal(DType::float32, {1}));
  return of_size(request.out[0].dtype, [&]<class T>() {
    T bits;
    std::memcpy(&bits, value.bytes().data(), sizeof bits);
    return make_kernel([bits, count = request.out[0].count()](const KernelArgs& args) {
      for_elements(args, count, Fill<T>{bits, args.out[0].as<T>()});
    });
  });
}

// Writes ones on the k-th diagonal.
template <class T>
struct Diagonal {
  int64_t columns, k;
  T* y;
  __device__ void operator()(int64_t i) const {
    y[i] = i % columns - i / columns == k ? T(1) : T(0);
  }
};

std::unique_ptr<Kernel> prepare_eye_like(const KernelRequest& request) {
  const int64_t k = request.attributes().integer("k", 0);
  return dispatch<Numbers>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([k, columns = request.out[0].dims[1],
                        count = request.out[0].count()](const KernelArgs& args) {
      for_elements(args, count, Diagonal<T>{columns, k, args.out[0].as<T>()});
    });
  });
}

}  // namespace

std::vector<KernelEntry> fill_cuda() {
  return {{"EyeLike", "", {{"GPU", makes<Numbers>(), prepare_eye_like}}},
          {"ConstantOfShape", "", {{"GPU", anything, prepare_constant_of_shape}}}};
}

}  // namespace lockstep
