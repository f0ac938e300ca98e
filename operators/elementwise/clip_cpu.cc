// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "operators/elementwise/clip.h"
#include "operators/kit/compute_type.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/widest.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

using Clippable = Types<float, double, int32_t, int64_t, int8_t, uint8_t, BFloat16>;
using Bounded = Types<float, double, BFloat16>;

// The bounds of a clip; an omitted bound is unlimited. Stored by value, since a result may alias
// the operands.
template <class T>
struct Bounds {
  using C = Widened<T>;
  C low, high;

  static Bounds of(const KernelArgs& args, std::size_t first) {
    using Limits = std::numeric_limits<C>;
    Bounds bounds{Limits::lowest(), Limits::max()};
    if constexpr (Limits::has_infinity) bounds = {-Limits::infinity(), Limits::infinity()};
    const auto take = [&](std::size_t i, C& bound) {
      if (i < args.in.size() && args.in[i].data) bound = *args.in[i].template as<const T>();
    };
    take(first, bounds.low);
    take(first + 1, bounds.high);
    return bounds;
  }
};

std::unique_ptr<Kernel> prepare_clip(const KernelRequest& request) {
  return dispatch<Clippable>(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [count = request.out[0].places(), threads = request.threads](const KernelArgs& args) {
          const Bounds<T> bounds = Bounds<T>::of(args, 1);
          const T* x = args.in[0].as<const T>();
          T* y = args.out[0].as<T>();
          parallel_for(count, kGrain, threads, [=](int64_t begin, int64_t end) {
            widest_for<T>([=] {
              for (int64_t i = begin; i < end; ++i) {
                const Widened<T> own = x[i];
                const Widened<T> raised = own < bounds.low ? bounds.low : own;  // NaN stays NaN
                y[i] = static_cast<T>(raised > bounds.high ? bounds.high : raised);
              }
            });
          });
          if (bounds.low > 0 || bounds.high < 0) clear_padding(args.out[0]);
        });
  });
}

std::unique_ptr<Kernel> prepare_clip_grad(const KernelRequest& request) {
  using In = ClipGradIn;
  return dispatch<Bounded>(request.in[In::dy].dtype, [&]<class T>() {
    return make_kernel(
        [count = request.out[0].places(), threads = request.threads](const KernelArgs& args) {
          const Bounds<T> bounds = Bounds<T>::of(args, In::low);
          const T* dy = args.in[In::dy].as<const T>();
          const T* x = args.in[In::x].as<const T>();
          T* dx = args.out[0].as<T>();
          parallel_for(count, kGrain, threads, [=](int64_t begin, int64_t end) {
            widest_for<T>([=] {
              for (int64_t i = begin; i < end; ++i) {
                const Widened<T> own = x[i];
                const Widened<T> passed =
                    ((own >= bounds.low) & (own <= bounds.high)) ? Widened<T>(dy[i]) : 0;
                dx[i] = static_cast<T>(passed);
              }
            });
          });
        });
  });
}

// Lets all operands before `first` share a layout. The bounds, operands from `first` on, have no
// layout.
LayoutPreference flat_beside_bounds(std::size_t first) {
  return [first](const KernelRequest& request) {
    KernelRequest values = request;
    values.in.erase(values.in.begin() + static_cast<std::ptrdiff_t>(first), values.in.end());
    Layouts layouts = flat_padded(values);
    layouts.in.resize(request.in.size());
    return layouts;
  };
}

}  // namespace

KernelEntry clip_cpu() {
  return {"Clip", "", {{"CPU", takes<Clippable>(), prepare_clip, flat_beside_bounds(1)}}};
}

KernelEntry clip_grad_cpu() {
  return {"ClipGrad",
          kOwnDomain,
          {{"CPU", takes<Bounded>(), prepare_clip_grad, flat_beside_bounds(ClipGradIn::low)}}};
}

}  // namespace lockstep
