// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/bytes.h"

#include <algorithm>

#include "operators/kit/dispatch.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

KernelEntry byte_table_cpu() {
  const auto prepare = [](const KernelRequest& request) {
    return dispatch<TensorFloats>(request.out[0].dtype, [&]<class T>() {
      const Dims& dims = request.in[0].dims;
      const int64_t planes = dims[0] * dims[1];
      const int64_t plane = planes == 0 ? 0 : request.in[0].count() / planes;
      const int64_t tables = request.in[1].dims[0];
      return make_kernel([=, threads = request.threads](const KernelArgs& args) {
        constexpr int64_t kGrain = 16384;  // bytes
        const auto* x = args.in[0].as<const uint8_t>();
        const auto* table = args.in[1].as<const T>();
        T* const y = args.out[0].as<T>();
        const int64_t few = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, plane));
        parallel_for(planes, few, threads, [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            const T* const of = table + p % tables * 256;
            for (int64_t i = p * plane; i < (p + 1) * plane; ++i) y[i] = of[x[i]];
          }
        });
      });
    });
  };
  return {"ByteTable",
          kOwnDomain,
          {{"CPU", every({takes<Types<uint8_t>>(), makes<TensorFloats>()}), prepare}}};
}

}  // namespace lockstep
