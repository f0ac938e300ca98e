// SPDX-License-Identifier: Apache-2.0
// Maxima with their indices, one element at a time. Only plans for other devices contain these
// operators; these kernels are the reference for tests of other kernels.
#include <cmath>
#include <limits>

#include "operators/kit/dispatch.h"
#include "operators/pool/pool.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int kSpatial = 3;

// Windows over a plane. Missing dimensions have size 1.
struct Windows {
  int64_t in[kSpatial] = {1, 1, 1}, out[kSpatial] = {1, 1, 1}, kernel[kSpatial] = {1, 1, 1},
          stride[kSpatial] = {1, 1, 1}, dilation[kSpatial] = {1, 1, 1}, pad[kSpatial] = {};

  Windows(const KernelRequest& request, const Dims& x, const Dims& y) {
    const Window all = pool_attrs_of(request).window;
    const Window window = resolved(all, all.kernel, to_shape({x.begin() + 2, x.end()}));
    const std::size_t dims = window.kernel.size();
    for (std::size_t i = 0; i < dims; ++i) {
      const std::size_t d = kSpatial - dims + i;
      in[d] = x[i + 2];
      out[d] = y[i + 2];
      kernel[d] = window.kernel[i];
      stride[d] = window.strides[i];
      dilation[d] = window.dilations[i];
      pad[d] = window.pads[i];
    }
  }
  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }

  // Calls visit(offset in the plane, number in the window) for each position outside padding.
  template <class Visit>
  void for_places(int64_t window, const Visit& visit) const {
    const int64_t size = kernel[0] * kernel[1] * kernel[2];
    for (int64_t number = 0; number < size; ++number) {
      int64_t place = 0, step = 1, rest = number, of_window = window;
      bool inside = true;
      for (int d = kSpatial - 1; d >= 0; --d) {
        const int64_t at = of_window % out[d] * stride[d] - pad[d] + rest % kernel[d] * dilation[d];
        inside = inside && at >= 0 && at < in[d];
        place += at * step;
        step *= in[d];
        rest /= kernel[d];
        of_window /= out[d];
      }
      if (inside) visit(place, number);
    }
  }
};

template <class T>
void find_maxima(const Windows& windows, const T* x, T* y, uint8_t* places) {
  for (int64_t window = 0; window < windows.out_plane(); ++window) {
    float most = -std::numeric_limits<float>::infinity();
    uint8_t best = kNoPlace;
    windows.for_places(window, [&](int64_t place, int64_t number) {
      const auto value = static_cast<float>(x[place]);
      if (best != kNoPlace && !(value > most || (std::isnan(value) && !std::isnan(most)))) return;
      best = static_cast<uint8_t>(number);
      most = value;
    });
    y[window] = T(most);
    places[window] = best;
  }
}

template <class T>
void spread(const Windows& windows, const T* dy, const uint8_t* places, T* dx) {
  std::vector<float> total(windows.in_plane(), 0.0F);
  for (int64_t window = 0; window < windows.out_plane(); ++window)
    windows.for_places(window, [&](int64_t place, int64_t number) {
      if (places[window] == number) total[place] += static_cast<float>(dy[window]);
    });
  for (std::size_t i = 0; i < total.size(); ++i) dx[i] = T(total[i]);
}

std::unique_ptr<Kernel> prepare_places(const KernelRequest& request) {
  const Windows windows(request, request.in[0].dims, request.out[0].dims);
  const int64_t planes = request.in[0].dims[0] * request.in[0].dims[1];
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=, threads = request.threads](const KernelArgs& args) {
      parallel_for(planes, 1, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          find_maxima(windows, args.in[0].as<const T>() + i * windows.in_plane(),
                      args.out[0].as<T>() + i * windows.out_plane(),
                      args.out[1].as<uint8_t>() + i * windows.out_plane());
      });
    });
  });
}

std::unique_ptr<Kernel> prepare_places_grad(const KernelRequest& request) {
  const Windows windows(request, request.out[0].dims, request.in[0].dims);
  const int64_t planes = request.in[0].dims[0] * request.in[0].dims[1];
  return dispatch<TensorFloats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([=, threads = request.threads](const KernelArgs& args) {
      parallel_for(planes, 1, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          spread(windows, args.in[0].as<const T>() + i * windows.out_plane(),
                 args.in[1].as<const uint8_t>() + i * windows.out_plane(),
                 args.out[0].as<T>() + i * windows.in_plane());
      });
    });
  });
}

}  // namespace

std::vector<KernelEntry> max_places_cpu() {
  const Refusal windows = every({takes<TensorFloats>(), up_to_dims(2 + kSpatial)});
  return {{"MaxPoolPlaces", kOwnDomain, {{"CPU", windows, prepare_places}}},
          {"MaxPoolPlacesGrad", kOwnDomain, {{"CPU", windows, prepare_places_grad}}}};
}

}  // namespace lockstep
