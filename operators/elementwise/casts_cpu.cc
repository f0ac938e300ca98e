#include "operators/elementwise/casts.h"
#include "operators/kit/dispatch.h"
#include "runtime/parallel.h"

namespace lockstep {

KernelEntry casts_cpu() {
  constexpr int64_t kGrain = 16384;
  const auto prepare = [](const KernelRequest& request) {
    return dispatch<NarrowFloats>(request.out[0].dtype, [&]<class To>() {
      return make_kernel([threads = request.threads](const KernelArgs& args) {
        for (std::size_t k = 0; k < args.in.size(); ++k) {
          const auto* x = args.in[k].as<const float>();
          To* const y = args.out[k].as<To>();
          parallel_for(args.in[k].count(), kGrain, threads, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) y[i] = To(x[i]);
          });
        }
      });
    });
  };
  return {
      "Casts", kOwnDomain, {{"CPU", every({takes<Float32>(), makes<NarrowFloats>()}), prepare}}};
}

}  // namespace lockstep
