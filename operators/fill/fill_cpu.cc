// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "lockstep/random.h"
#include "operators/fill/fill.h"
#include "operators/kit/dispatch.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// Each run continues the stream: run s of a program starts at block s * 2^40.
uint64_t first_block(const RunContext& context) { return context.step << 40; }

// Fills y with random numbers. A Philox block gives four numbers; make(block) turns them into four
// floats.
template <class Make>
std::unique_ptr<Kernel> random_kernel(const KernelRequest& request, Make make) {
  auto attributes = request.attributes();
  const uint64_t stream = static_cast<uint64_t>(attributes.number("seed", 0));
  return make_kernel([stream, make, count = request.out[0].count(),
                      threads = request.threads](const KernelArgs& args) {
    float* y = args.out[0].as<float>();
    parallel_for((count + 3) / 4, 4096, threads, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        auto bits = philox(args.context.seed, stream, first_block(args.context) + block);
        std::array<float, 4> values = make(bits);
        for (int64_t i = 0; i < 4 && block * 4 + i < count; ++i) y[block * 4 + i] = values[i];
      }
    });
  });
}

std::unique_ptr<Kernel> prepare_normal(const KernelRequest& request) {
  auto attributes = request.attributes();
  const double mean = attributes.number("mean", 0), scale = attributes.number("scale", 1);
  return random_kernel(request, [mean, scale](const PhiloxBlock& bits) {
    auto a = normal_of(bits[0], bits[1]), b = normal_of(bits[2], bits[3]);
    auto value = [&](double x) { return static_cast<float>(mean + scale * x); };
    return std::array<float, 4>{value(a[0]), value(a[1]), value(b[0]), value(b[1])};
  });
}

std::unique_ptr<Kernel> prepare_uniform(const KernelRequest& request) {
  auto attributes = request.attributes();
  const double low = attributes.number("low", 0), high = attributes.number("high", 1);
  return random_kernel(request, [low, high](const PhiloxBlock& bits) {
    auto value = [&](uint32_t x) { return static_cast<float>(low + (high - low) * uniform_of(x)); };
    return std::array<float, 4>{value(bits[0]), value(bits[1]), value(bits[2]), value(bits[3])};
  });
}

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
  return {{"RandomNormal", "", {{"CPU", makes<Float32>(), prepare_normal}}},
          {"RandomUniform", "", {{"CPU", makes<Float32>(), prepare_uniform}}},
          {"EyeLike", "", {{"CPU", makes<Numbers>(), prepare_eye_like}}},
          {"ConstantOfShape", "", {{"CPU", anything, prepare_constant_of_shape}}}};
}

}  // namespace lockstep
