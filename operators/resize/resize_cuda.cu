// SPDX-License-Identifier: Apache-2.0
// Each thread computes one element of a pass's result and adds in the CPU's order.
#include <algorithm>

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/layout.h"
#include "operators/resize/passes.h"
#include "operators/resize/resize.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

// The position of an element in a pass's result [outer, to, inner].
struct PassPlace {
  int64_t outer, place, inner;
  __device__ PassPlace(const ResizePass& pass, int64_t at)
      : outer(at / pass.inner / pass.to),
        place(at / pass.inner % pass.to),
        inner(at % pass.inner) {}
  // The operand's element at `from` along the axis, with the same position in the other dimensions.
  __device__ int64_t beside(const ResizePass& pass, int64_t from) const {
    return (outer * pass.from + from) * pass.inner + inner;
  }
};

template <class From, class To>
struct Apply {
  ResizePass pass;
  const From* from;
  To* to;
  __device__ void operator()(int64_t at) const {
    const PassPlace here(pass, at);
    const ResizeTaps taps = pass.line.taps(here.place);
    float total = 0;
    for (int tap = 0; tap < taps.count; ++tap)
      total += taps.weight[tap] * computed(from[here.beside(pass, taps.place[tap])]);
    to[at] = stored<To>(total);
  }
};

template <class From, class To>
struct ApplyBack {
  ResizePass pass;
  const From* from;
  To* to;
  __device__ void operator()(int64_t at) const {
    const PassPlace here(pass, at);
    const int64_t end = pass.line.last_taker(here.place);
    float total = 0;
    for (int64_t i = pass.line.first_taker(here.place); i < end; ++i) {
      const ResizeTaps taps = pass.line.taps(i);
      for (int tap = 0; tap < taps.count; ++tap)
        if (taps.place[tap] == here.place)
          total += taps.weight[tap] * computed(from[here.beside(pass, i)]);
    }
    to[at] = stored<To>(total);
  }
};

constexpr int kMostDims = 8;

template <class T>
struct Blank {
  int dims;
  ResizeLine line[kMostDims];
  float value;
  T* y;
  __device__ void operator()(int64_t i) const {
    int64_t rest = i;
    bool outside = false;
    for (int d = dims - 1; d >= 0; --d) {
      outside = outside || line[d].outside(rest % line[d].after);
      rest /= line[d].after;
    }
    if (outside) y[i] = stored<T>(value);
  }
};

template <class From, class To>
void do_pass(const KernelArgs& args, ResizeDirection direction, const ResizePass& pass,
             const void* from, void* to) {
  const auto* x = static_cast<const From*>(from);
  auto* y = static_cast<To*>(to);
  if (direction == ResizeDirection::forward)
    for_elements(args, pass.count(), Apply<From, To>{pass, x, y});
  else
    for_elements(args, pass.count(), ApplyBack<From, To>{pass, x, y});
}

// Intermediate results are float32 for all types of operand and result.
template <class T>
void run_passes(const KernelArgs& args, const ResizePasses& all) {
  const void* from = args.in[0].data;
  auto* buffers = reinterpret_cast<float*>(args.workspace);
  const std::size_t count = all.passes.size();
  if (count == 0) args.queue->copy(args.out[0].data, from, all.count * sizeof(T));
  for (std::size_t n = 0; n < count; ++n) {
    const bool first = n == 0, last = n + 1 == count;
    void* to = last ? args.out[0].data : buffers + static_cast<int64_t>(n % 2) * all.largest;
    const auto pass = first ? (last ? do_pass<T, T> : do_pass<T, float>)
                            : (last ? do_pass<float, T> : do_pass<float, float>);
    pass(args, all.direction, all.passes[n], from, to);
    from = to;
  }
}

std::unique_ptr<Kernel> kernel_of(const KernelRequest& request, const ResizePasses& all) {
  const bool blanks = all.any_outside();
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    auto run = [all, blanks](const KernelArgs& args) {
      run_passes<T>(args, all);
      if (!blanks) return;
      Blank<T> blank{
          static_cast<int>(all.lines.size()), {}, all.extrapolation, args.out[0].as<T>()};
      std::copy(all.lines.begin(), all.lines.end(), blank.line);
      for_elements(args, args.out[0].count(), blank);
    };
    return make_kernel(run, "", all.workspace_bytes());
  });
}

std::unique_ptr<Kernel> prepare_resize(const KernelRequest& request) {
  return kernel_of(request, resize_passes(request));
}
std::unique_ptr<Kernel> prepare_resize_grad(const KernelRequest& request) {
  return kernel_of(request, resize_grad_passes(request));
}

}  // namespace

std::vector<KernelEntry> resize_cuda() {
  const Refusal images = every({takes<TensorFloats>(), up_to_dims(kMostDims)});
  return {{"Resize", "", {{"GPU", images, prepare_resize, together({0}, {0})}}},
          {"ResizeGrad", kOwnDomain, {{"GPU", images, prepare_resize_grad, together({0}, {0})}}}};
}

}  // namespace lockstep
