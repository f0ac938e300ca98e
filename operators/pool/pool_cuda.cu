// SPDX-License-Identifier: Apache-2.0
// Pooling over up to three spatial dimensions. Gradients gather: each position sums over the
// windows that contain it, in the order of windows, so that sums have a fixed order.
#include <cmath>

#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/layout/layout.h"
#include "operators/pool/max_packs_cuda.h"

namespace lockstep {
namespace {

constexpr int kSpatial = 3;

// Windows over one plane. Missing dimensions have size 1.
struct Windows {
  int x[kSpatial], y[kSpatial], kernel[kSpatial], stride[kSpatial], dilation[kSpatial],
      pad[kSpatial];

  Windows(const PoolAttrs& attrs, const Dims& from, const Dims& to) {
    const std::size_t spatial = from.size() - 2;
    const Window window =
        resolved(attrs.window, attrs.window.kernel, to_shape(Dims(from.begin() + 2, from.end())));
    for (int d = 0; d < kSpatial; ++d) {
      x[d] = y[d] = kernel[d] = stride[d] = dilation[d] = 1;
      pad[d] = 0;
    }
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::size_t d = kSpatial - spatial + i;
      x[d] = static_cast<int>(from[i + 2]);
      y[d] = static_cast<int>(to[i + 2]);
      kernel[d] = static_cast<int>(window.kernel[i]);
      stride[d] = static_cast<int>(window.strides[i]);
      dilation[d] = static_cast<int>(window.dilations[i]);
      pad[d] = static_cast<int>(window.pads[i]);
    }
  }

  __host__ __device__ int x_plane() const { return x[0] * x[1] * x[2]; }
  __host__ __device__ int y_plane() const { return y[0] * y[1] * y[2]; }

  // Calls visit(offset, number in the window) for every position of a window outside padding, in
  // order.
  template <class Visit>
  __device__ void for_places(int window, Visit visit) const {
    int first[kSpatial];
    for (int d = kSpatial - 1; d >= 0; --d) {
      first[d] = window % y[d] * stride[d] - pad[d];
      window /= y[d];
    }
    for (int a = 0; a < kernel[0]; ++a)
      for (int b = 0; b < kernel[1]; ++b)
        for (int c = 0; c < kernel[2]; ++c) {
          const int i = first[0] + a * dilation[0], j = first[1] + b * dilation[1],
                    k = first[2] + c * dilation[2];
          if (i >= 0 && i < x[0] && j >= 0 && j < x[1] && k >= 0 && k < x[2])
            visit((i * x[1] + j) * x[2] + k, (a * kernel[1] + b) * kernel[2] + c);
        }
  }

  // Calls visit(window, number in the window) for every window that contains a position, in order.
  template <class Visit>
  __device__ void for_windows(int place, Visit visit) const {
    int at[kSpatial];
    for (int d = kSpatial - 1; d >= 0; --d) {
      at[d] = place % x[d] + pad[d];
      place /= x[d];
    }
    for (int a = kernel[0] - 1; a >= 0; --a)
      for (int b = kernel[1] - 1; b >= 0; --b)
        for (int c = kernel[2] - 1; c >= 0; --c) {
          const int i = at[0] - a * dilation[0], j = at[1] - b * dilation[1],
                    k = at[2] - c * dilation[2];
          if (i < 0 || j < 0 || k < 0 || i % stride[0] || j % stride[1] || k % stride[2]) continue;
          const int u = i / stride[0], v = j / stride[1], w = k / stride[2];
          if (u < y[0] && v < y[1] && w < y[2])
            visit((u * y[1] + v) * y[2] + w, (a * kernel[1] + b) * kernel[2] + c);
        }
  }

  __device__ int places(int window) const {
    int count = 0;
    for_places(window, [&](int, int) { ++count; });
    return count;
  }
};

// The layout of planes: row-major or channels-last.
struct Planes {
  int64_t channels;
  bool channels_last;

  explicit Planes(const TensorDesc& tensor)
      : channels(tensor.dims[1]), channels_last(tensor.layout.is_channels_last()) {}

  // A position in a tensor with planes of `size`, and its image and channel, which find the same
  // plane in a tensor of another size.
  struct At {
    int place;
    int64_t image, channel;
  };
  __device__ At at(int64_t i, int size) const {
    if (i <= UINT32_MAX) return decoded(static_cast<uint32_t>(i), size);
    return decoded(static_cast<uint64_t>(i), size);
  }
  __device__ int64_t first(const At& at, int size) const {
    return channels_last ? at.image * size * channels + at.channel
                         : (at.image * channels + at.channel) * size;
  }
  __device__ int64_t step() const { return channels_last ? channels : 1; }

 private:
  template <class Index>
  __device__ At decoded(Index i, int size) const {
    const auto count = static_cast<Index>(channels), plane = static_cast<Index>(size);
    if (!channels_last)
      return {static_cast<int>(i % plane), static_cast<int64_t>(i / plane / count),
              static_cast<int64_t>(i / plane % count)};
    return {static_cast<int>(i / count % plane), static_cast<int64_t>(i / count / plane),
            static_cast<int64_t>(i % count)};
  }
};

// A window's maximum: the first of equal values; NaN is above all numbers. -1: the window is empty.
struct Most {
  int place = -1, number = -1;
};
template <class T>
__device__ Most most_of(const Windows& windows, const T* plane, int64_t step, int window) {
  Most best;
  float most = 0;
  windows.for_places(window, [&](int place, int number) {
    const float value = computed(plane[place * step]);
    if (best.place < 0 || value > most || (isnan(value) && !isnan(most))) {
      best = {place, number};
      most = value;
    }
  });
  return best;
}

// Number is uint8_t, or int for windows with more positions.
template <class T, class Number>
struct Maximum {
  Windows windows;
  Planes planes;
  const T* x;
  T* y;             // may be null
  Number* numbers;  // may be null
  __device__ void operator()(int64_t i) const {
    const auto at = planes.at(i, windows.y_plane());
    const T* plane = x + planes.first(at, windows.x_plane());
    const Most best = most_of(windows, plane, planes.step(), at.place);
    if (y) y[i] = best.place < 0 ? stored<T>(-INFINITY) : plane[best.place * planes.step()];
    if (numbers) numbers[i] = static_cast<Number>(best.number);
  }
};

template <class T>
struct Average {
  Windows windows;
  Planes planes;
  int64_t divisor;  // 0: the number of positions outside padding
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const {
    const auto at = planes.at(i, windows.y_plane());
    const T* plane = x + planes.first(at, windows.x_plane());
    double total = 0;
    int count = 0;
    windows.for_places(at.place, [&](int place, int) {
      total += computed(plane[place * planes.step()]);
      ++count;
    });
    y[i] = stored<T>(total / static_cast<double>(divisor > 0 ? divisor : count));
  }
};

template <class T, class Number>
struct MaximumGrad {
  Windows windows;
  Planes planes;
  const T* dy;
  const Number* numbers;
  T* dx;
  __device__ void operator()(int64_t i) const {
    const auto at = planes.at(i, windows.x_plane());
    const int64_t first = planes.first(at, windows.y_plane());
    float total = 0;
    windows.for_windows(at.place, [&](int window, int number) {
      const int64_t there = first + window * planes.step();
      if (numbers[there] == number) total += computed(dy[there]);
    });
    dx[i] = stored<T>(total);
  }
};

template <class T>
struct AverageGrad {
  Windows windows;
  Planes planes;
  int64_t divisor;
  const T* dy;
  T* dx;
  __device__ void operator()(int64_t i) const {
    const auto at = planes.at(i, windows.x_plane());
    const int64_t first = planes.first(at, windows.y_plane());
    float total = 0;
    windows.for_windows(at.place, [&](int window, int) {
      total += computed(dy[first + window * planes.step()]) /
               static_cast<float>(divisor > 0 ? divisor : windows.places(window));
    });
    dx[i] = stored<T>(total);
  }
};

// The gradient of a mean over the whole plane, where a search for windows would dominate.
template <class T>
struct GlobalAverageGrad {
  int plane;
  Planes planes;
  const T* dy;
  T* dx;
  __device__ void operator()(int64_t i) const {
    const auto at = planes.at(i, plane);
    dx[i] = stored<T>(computed(dy[at.image * planes.channels + at.channel]) /
                      static_cast<float>(plane));
  }
};

template <class Make>
std::unique_ptr<Kernel> of_floats(const KernelRequest& request, const Make& make) {
  return dispatch<TensorFloats>(
      request.in[0].dtype, [&]<class T>() { return make.template operator()<DeviceType<T>>(); });
}

// The window's size if padding counts, else 0.
int64_t divisor_of(const PoolAttrs& attrs, const Dims& x) {
  if (!attrs.count_include_pad) return 0;
  const Window window =
      resolved(attrs.window, attrs.window.kernel, to_shape(Dims(x.begin() + 2, x.end())));
  return element_count(Dims(window.kernel.begin(), window.kernel.end()));
}

Window resolved_on(const PoolAttrs& attrs, const Dims& x) {
  return resolved(attrs.window, attrs.window.kernel, to_shape(Dims(x.begin() + 2, x.end())));
}

// Prepares a MaxPool, or a MaxPoolPlaces if there is a second result.
std::unique_ptr<Kernel> max_kernel(const KernelRequest& request, const PoolAttrs& attrs) {
  const TensorDesc &x = request.in[0], &y = request.out[0];
  const Window window = resolved_on(attrs, x.dims);
  if (takes_packs(window, x, y)) return max_of_packs(request, window);
  const Windows windows(attrs, x.dims, y.dims);
  const Planes planes(x);
  const bool keeps = request.out.size() > 1;
  return of_floats(request, [&]<class T>() {
    return make_kernel([=, count = y.count()](const KernelArgs& args) {
      for_elements(
          args, count,
          Maximum<T, uint8_t>{windows, planes, args.in[0].as<const T>(), args.out[0].as<T>(),
                              keeps ? args.out[1].as<uint8_t>() : nullptr});
    });
  });
}

std::unique_ptr<Kernel> average_kernel(const KernelRequest& request, const PoolAttrs& attrs) {
  const Windows windows(attrs, request.in[0].dims, request.out[0].dims);
  const Planes planes(request.in[0]);
  const int64_t divisor = divisor_of(attrs, request.in[0].dims);
  return of_floats(request, [&]<class T>() {
    return make_kernel([=, count = request.out[0].count()](const KernelArgs& args) {
      for_elements(
          args, count,
          Average<T>{windows, planes, divisor, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

// The operands are dy, x.
std::unique_ptr<Kernel> prepare_max_grad(const KernelRequest& request) {
  const Windows windows(pool_attrs_of(request), request.in[1].dims, request.in[0].dims);
  const Planes planes(request.in[1]);
  const int64_t from = request.in[0].count(), to = request.out[0].count();
  return of_floats(request, [&]<class T>() {
    auto run = [=](const KernelArgs& args) {
      auto* numbers = reinterpret_cast<int*>(args.workspace);
      for_elements(args, from,
                   Maximum<T, int>{windows, planes, args.in[1].as<const T>(), nullptr, numbers});
      for_elements(args, to,
                   MaximumGrad<T, int>{windows, planes, args.in[0].as<const T>(), numbers,
                                       args.out[0].as<T>()});
    };
    return make_kernel(run, "", from * sizeof(int));
  });
}

// The operands are dy, places.
std::unique_ptr<Kernel> prepare_places_grad(const KernelRequest& request) {
  const PoolAttrs attrs = pool_attrs_of(request);
  const TensorDesc &dy = request.in[0], &dx = request.out[0];
  const Window window = resolved_on(attrs, dx.dims);
  if (takes_packs(window, dx, dy)) return max_of_packs_grad(request, window);
  const Windows windows(attrs, dx.dims, dy.dims);
  const Planes planes(dx);
  return of_floats(request, [&]<class T>() {
    return make_kernel([=, count = dx.count()](const KernelArgs& args) {
      for_elements(args, count,
                   MaximumGrad<T, uint8_t>{windows, planes, args.in[0].as<const T>(),
                                           args.in[1].as<const uint8_t>(), args.out[0].as<T>()});
    });
  });
}

// Gives the maxima's numbers the layout of the data.
Layouts places_layouts(const KernelRequest& request) {
  static const LayoutPreference data = together({0}, {0});
  Layouts layouts = data(request);
  layouts.out[1] = layouts.out[0];
  return layouts;
}
Layouts places_grad_layouts(const KernelRequest& request) {
  const TensorDesc &dy = request.in[0], &places = request.in[1];
  const Layout layout = std::max(dy.layout, places.layout);
  return {{layout, layout}, {layout}};
}

std::unique_ptr<Kernel> average_grad_kernel(const KernelRequest& request, const PoolAttrs& attrs) {
  const Windows windows(attrs, request.out[0].dims, request.in[0].dims);
  const Planes planes(request.out[0]);
  const int64_t divisor = divisor_of(attrs, request.out[0].dims);
  return of_floats(request, [&]<class T>() {
    return make_kernel([=, count = request.out[0].count()](const KernelArgs& args) {
      for_elements(
          args, count,
          AverageGrad<T>{windows, planes, divisor, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

std::unique_ptr<Kernel> prepare_global_grad(const KernelRequest& request) {
  const Planes planes(request.out[0]);
  const int64_t count = request.out[0].count();
  const auto plane = static_cast<int>(count / std::max<int64_t>(1, request.in[0].count()));
  return of_floats(request, [&]<class T>() {
    return make_kernel([=](const KernelArgs& args) {
      for_elements(
          args, count,
          GlobalAverageGrad<T>{plane, planes, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

std::unique_ptr<Kernel> prepare_max(const KernelRequest& request) {
  return max_kernel(request, pool_attrs_of(request));
}
std::unique_ptr<Kernel> prepare_global_max(const KernelRequest& request) {
  return max_kernel(request, global_window(request.in[0].dims));
}
std::unique_ptr<Kernel> prepare_average(const KernelRequest& request) {
  return average_kernel(request, pool_attrs_of(request));
}
std::unique_ptr<Kernel> prepare_global_average(const KernelRequest& request) {
  return average_kernel(request, global_window(request.in[0].dims));
}
std::unique_ptr<Kernel> prepare_average_grad(const KernelRequest& request) {
  return average_grad_kernel(request, pool_attrs_of(request));
}

}  // namespace

std::vector<KernelEntry> pool_cuda() {
  const LayoutPreference forward = together({0}, {0}), max_backward = together({0, 1}, {0});
  const Refusal planes = every({takes<TensorFloats>(), whole_channels(0)});
  const Refusal windows = every({planes, up_to_dims(2 + kSpatial)});
  const Refusal average = every({windows, past_padding});
  const Refusal average_back = every({windows, past_padding_back});
  const Refusal max_back = every({windows, whole_channels(1)});
  return {
      {"MaxPool", "", {{"GPU", windows, prepare_max, forward}}},
      {"AveragePool", "", {{"GPU", average, prepare_average, forward}}},
      {"GlobalMaxPool", "", {{"GPU", windows, prepare_global_max, forward}}},
      {"GlobalAveragePool", "", {{"GPU", windows, prepare_global_average, forward}}},
      {"MaxPoolGrad", kOwnDomain, {{"GPU", max_back, prepare_max_grad, max_backward}}},
      {"AveragePoolGrad", kOwnDomain, {{"GPU", average_back, prepare_average_grad, forward}}},
      {"GlobalAveragePoolGrad", kOwnDomain, {{"GPU", planes, prepare_global_grad, forward}}},
      {"MaxPoolPlaces", kOwnDomain, {{"GPU", windows, prepare_max, places_layouts}}},
      {"MaxPoolPlacesGrad",
       kOwnDomain,
       {{"GPU", every({windows, whole_channels(1)}), prepare_places_grad, places_grad_layouts}}}};
}

}  // namespace lockstep
