// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "graph/random_stream.h"
#include "lockstep/random.h"
#include "operators/dropout/dropout.h"
#include "operators/kit/dispatch.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 4096;  // blocks of four numbers

double ratio_of(const KernelArgs& args) {
  if (args.in.size() < 2 || !args.in[1].data) return 0.5;
  const Tensor& ratio = args.in[1];
  return ratio.desc.dtype == DType::float64 ? *ratio.as<double>() : *ratio.as<float>();
}

bool training_of(const KernelArgs& args) {
  return args.in.size() > 2 && args.in[2].data && *args.in[2].as<bool>();
}

// Keeps element i if its number, in (0, 1), is above the ratio. Both operators share this kernel;
// only Dropout writes a mask.
std::unique_ptr<Kernel> prepare(const KernelRequest& request) {
  for (std::size_t i = 1; i < request.in.size(); ++i)
    check(!request.in[i].present() || request.in[i].count() == 1, "operand ", i, " is ",
          request.in[i], ", should be a scalar");
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([count = request.in[0].count(), threads = request.threads,
                        stream = static_cast<uint64_t>(random_stream_of(request.node))](
                           const KernelArgs& args) {
      const T* x = args.in[0].as<T>();
      T* y = args.out[0].as<T>();
      bool* mask = args.out.size() > 1 && args.out[1].data ? args.out[1].as<bool>() : nullptr;
      const double ratio = ratio_of(args);
      if (!training_of(args) || ratio == 0) {
        if (x != y) std::memcpy(y, x, count * sizeof(T));
        if (mask) std::fill_n(mask, count, true);
        return;
      }
      const uint64_t numbers = stream_in_step(args.context.step, stream);
      const T growth = ratio < 1 ? static_cast<T>(1 / (1 - ratio)) : T(0);
      parallel_for((count + 3) / 4, kGrain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
          const PhiloxBlock bits = philox(args.context.seed, numbers, static_cast<uint64_t>(block));
          for (int64_t i = 4 * block; i < std::min(count, 4 * block + 4); ++i) {
            const bool kept = uniform_of(bits[i % 4]) > ratio;
            y[i] = kept ? x[i] * growth : T(0);
            if (mask) mask[i] = kept;
          }
        }
      });
    });
  });
}

}  // namespace

std::vector<KernelEntry> dropout_cpu() {
  const Refusal floats = every({takes<Floats>(), takes<Floats>(1)});
  return {{"Dropout", "", {{"CPU", floats, prepare}}},
          {"DropoutGrad", kOwnDomain, {{"CPU", floats, prepare}}}};
}

}  // namespace lockstep
