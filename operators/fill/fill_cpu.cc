// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "operators/fill/fill.h"
#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

std::unique_ptr<Kernel> prepare_constant_of_shape(const KernelRequest& request) {
  auto attributes = request.attributes();
  Literal value = attributes.literal("value", Literal(DType::float32, {1}));
  return make_kernel([value, count = request.out[0].count()](const KernelArgs& args) {
    auto* to = args.out[0].as<std::byte>();
    const std::size_t size = value.bytes().size();
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, value.bytes().data(), size);
  });
}

// Writes ones on the k-th diagonal.
std::unique_ptr<Kernel> prepare_eye_like(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t k = attributes.integer("k", 0);
  const int64_t rows = request.out[0].dims[0], columns = request.out[0].dims[1];
  return dispatch<Numbers>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      for (int64_t i = 0; i < rows * columns; ++i)
        args.out[0].as<T>()[i] = i % columns - i / columns == k ? T(1) : T(0);
    });
  });
}

}  // namespace

std::vector<KernelEntry> fill_cpu() {
  return {{"EyeLike", "", {{"CPU", makes<Numbers>(), prepare_eye_like}}},
          {"ConstantOfShape", "", {{"CPU", anything, prepare_constant_of_shape}}}};
}

}  // namespace lockstep
