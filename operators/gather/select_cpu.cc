// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operators/gather/select.h"
#include "operators/gather/top_k_cpu.h"
#include "operators/kit/axis_loop.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/saturating_cast.h"

namespace lockstep {
namespace {

// The depth and both values may have any type. An index outside the depth gives "off" everywhere.
std::unique_ptr<Kernel> prepare_one_hot(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Dims y = request.out[0].dims;
  const AroundAxis around(y, attributes.integer("axis", -1));
  return dispatch<Numbers>(request.in[0].dtype, [&]<class Index>() {
    return dispatch<Numbers>(request.out[0].dtype, [&]<class T>() {
      return make_kernel([=](const KernelArgs& args) {
        const T off = args.in[2].as<T>()[0], on = args.in[2].as<T>()[1];
        std::fill_n(args.out[0].as<T>(), element_count(y), off);
        for (int64_t i = 0; i < around.outer * around.inner; ++i) {
          auto index = converted<int64_t>(args.in[0].as<Index>()[i]);
          if (index < 0) index += around.size;
          if (index < 0 || index >= around.size) continue;
          args.out[0]
              .as<T>()[(i / around.inner * around.size + index) * around.inner + i % around.inner] =
              on;
        }
      });
    });
  });
}

std::unique_ptr<Kernel> prepare_trilu(const KernelRequest& request) {
  auto attributes = request.attributes();
  const bool upper = attributes.integer("upper", 1) != 0;
  const bool shifted = request.in.size() > 1 && request.in[1].present();
  const Dims& x = request.in[0].dims;
  const int64_t rows = x[x.size() - 2], columns = x.back(), count = request.in[0].count();
  return dispatch<Numbers>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      const int64_t k = shifted ? *args.in[1].as<int64_t>() : 0;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = i / columns % rows, column = i % columns;
        const bool kept = upper ? column - row >= k : column - row <= k;
        args.out[0].as<T>()[i] = kept ? args.in[0].as<T>()[i] : T(0);
      }
    });
  });
}

}  // namespace

std::vector<KernelEntry> select_cpu() {
  return {{"TopK", "", {{"CPU", takes<Numbers>(), prepare_top_k}}},
          {"OneHot", "", {{"CPU", every({takes<Numbers>(), makes<Numbers>()}), prepare_one_hot}}},
          {"Trilu", "", {{"CPU", takes<Numbers>(), prepare_trilu}}}};
}

}  // namespace lockstep
