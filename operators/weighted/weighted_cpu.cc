// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dispatch.h"
#include "operators/weighted/weighted.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

std::unique_ptr<Kernel> prepare_scale(const KernelRequest& request) {
  auto attributes = request.attributes();
  const float factor = attributes.number("scale", 1);
  return make_kernel(
      [factor, count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        const float* x = args.in[0].as<float>();
        float* y = args.out[0].as<float>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) y[i] = factor * x[i];
        });
      });
}

std::unique_ptr<Kernel> prepare_weighted_sum(const KernelRequest& request) {
  return make_kernel(
      [count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        float* y = args.out[0].as<float>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            float total = 0;
            for (std::size_t k = 0; k < args.in.size(); k += 2)
              total += args.in[k].as<float>()[i] * *args.in[k + 1].as<float>();
            y[i] = total;
          }
        });
      });
}

}  // namespace

std::vector<KernelEntry> weighted_cpu() {
  return {{"Scale", kOwnDomain, {{"CPU", takes<Float32>(), prepare_scale}}},
          {"WeightedSum", kOwnDomain, {{"CPU", takes<Float32>(), prepare_weighted_sum}}}};
}

}  // namespace lockstep
