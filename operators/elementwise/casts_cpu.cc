// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/casts.h"

#include <optional>

#include "operators/kit/dispatch.h"
#include "runtime/layout/places_in_tiles.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// A result has its operand's layout, or tiles if the operand is row-major.
template <class To>
std::unique_ptr<Kernel> prepare_casts(const KernelRequest& request) {
  std::vector<std::optional<PlacesInTiles>> places(request.out.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    const TensorDesc &from = request.in[k], &to = request.out[k];
    if (from.layout == to.layout) continue;
    supported(from.layout.is_rows() && to.layout.is_tiles(), "does not cast ", text_of(from),
              " to ", text_of(to));
    places[k].emplace(to.dims, to.layout.tiles());
  }
  return make_kernel(
      [places = std::move(places), threads = request.threads](const KernelArgs& args) {
        for (std::size_t k = 0; k < args.in.size(); ++k) {
          const auto* x = args.in[k].as<const float>();
          To* const y = args.out[k].as<To>();
          parallel_for(args.in[k].count(), kGrain, threads, [&](int64_t begin, int64_t end) {
            if (places[k])
              places[k]->each(begin, end - begin,
                              [&](int64_t n, int64_t place) { y[place] = To(x[begin + n]); });
            else
              for (int64_t i = begin; i < end; ++i) y[i] = To(x[i]);
          });
        }
      });
}

}  // namespace

KernelEntry casts_cpu() {
  const auto prepare = [](const KernelRequest& request) {
    return dispatch<NarrowFloats>(request.out[0].dtype,
                                  [&]<class To>() { return prepare_casts<To>(request); });
  };
  return {
      "Casts", kOwnDomain, {{"CPU", every({takes<Float32>(), makes<NarrowFloats>()}), prepare}}};
}

}  // namespace lockstep
