// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/weighted/weighted.h"

namespace lockstep {
namespace {

struct Times {
  float factor;
  __device__ float operator()(float x) const { return factor * x; }
};

std::unique_ptr<Kernel> prepare_scale(const KernelRequest& request) {
  auto attributes = request.attributes();
  return map_one<float, float>(request, Times{attributes.number("scale", 1)});
}

constexpr int kMostTerms = 16;

// Weights are read from device memory.
struct WeightedTerms {
  int count;
  const float* term[kMostTerms];
  const float* weight[kMostTerms];
  float* y;
  __device__ void operator()(int64_t i) const {
    float total = 0;
    for (int k = 0; k < count; ++k) total += term[k][i] * *weight[k];
    y[i] = total;
  }
};

std::unique_ptr<Kernel> prepare_weighted_sum(const KernelRequest& request) {
  return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
    WeightedTerms body{static_cast<int>(args.in.size() / 2), {}, {}, args.out[0].as<float>()};
    for (int k = 0; k < body.count; ++k) {
      body.term[k] = args.in[2 * k].as<float>();
      body.weight[k] = args.in[2 * k + 1].as<float>();
    }
    for_elements(args, count, body);
  });
}

}  // namespace

std::vector<KernelEntry> weighted_cuda() {
  const Refusal terms = every({takes<Float32>(), up_to_operands(2 * kMostTerms)});
  return {{"Scale", kOwnDomain, {{"GPU", takes<Float32>(), prepare_scale}}},
          {"WeightedSum", kOwnDomain, {{"GPU", terms, prepare_weighted_sum}}}};
}

}  // namespace lockstep
