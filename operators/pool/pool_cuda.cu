// Pooling over up to three spatial dimensions. A gradient gathers what every window that holds a
// place has for it, window by window, so that sums have one order.
#include <cmath>

#include "operators/elements_cuda.h"
#include "operators/pool/pool.h"

namespace lockstep {
namespace {

constexpr int kSpatial = 3;

// Windows over one plane; dimensions that are not there have size 1.
struct Windows {
  int64_t x[kSpatial], y[kSpatial], kernel[kSpatial], stride[kSpatial], dilation[kSpatial],
      pad[kSpatial];

  Windows(const PoolAttrs& attrs, const Dims& from, const Dims& to) {
    const std::size_t spatial = from.size() - 2;
    supported(spatial >= 1 && spatial <= kSpatial, "pools over ", spatial, " dimensions");
    const Window window =
        resolved(attrs.window, attrs.window.kernel, to_shape(Dims(from.begin() + 2, from.end())));
    for (int d = 0; d < kSpatial; ++d) {
      x[d] = y[d] = kernel[d] = stride[d] = dilation[d] = 1;
      pad[d] = 0;
    }
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::size_t d = kSpatial - spatial + i;
      x[d] = from[i + 2];
      y[d] = to[i + 2];
      kernel[d] = window.kernel[i];
      stride[d] = window.strides[i];
      dilation[d] = window.dilations[i];
      pad[d] = window.pads[i];
    }
  }

  __device__ int64_t x_plane() const { return x[0] * x[1] * x[2]; }
  __device__ int64_t y_plane() const { return y[0] * y[1] * y[2]; }

  // visit(place) for every real place of a window, in order.
  template <class Visit>
  __device__ void for_places(int64_t window, Visit visit) const {
    int64_t first[kSpatial];
    for (int d = kSpatial - 1; d >= 0; --d) {
      first[d] = window % y[d] * stride[d] - pad[d];
      window /= y[d];
    }
    for (int64_t a = 0; a < kernel[0]; ++a)
      for (int64_t b = 0; b < kernel[1]; ++b)
        for (int64_t c = 0; c < kernel[2]; ++c) {
          const int64_t i = first[0] + a * dilation[0], j = first[1] + b * dilation[1],
                        k = first[2] + c * dilation[2];
          if (i >= 0 && i < x[0] && j >= 0 && j < x[1] && k >= 0 && k < x[2])
            visit((i * x[1] + j) * x[2] + k);
        }
  }

  // visit(window) for every window that holds a place, in order.
  template <class Visit>
  __device__ void for_windows(int64_t place, Visit visit) const {
    int64_t at[kSpatial];
    for (int d = kSpatial - 1; d >= 0; --d) {
      at[d] = place % x[d] + pad[d];
      place /= x[d];
    }
    for (int64_t a = kernel[0] - 1; a >= 0; --a)
      for (int64_t b = kernel[1] - 1; b >= 0; --b)
        for (int64_t c = kernel[2] - 1; c >= 0; --c) {
          const int64_t i = at[0] - a * dilation[0], j = at[1] - b * dilation[1],
                        k = at[2] - c * dilation[2];
          if (i < 0 || j < 0 || k < 0 || i % stride[0] || j % stride[1] || k % stride[2]) continue;
          const int64_t u = i / stride[0], v = j / stride[1], w = k / stride[2];
          if (u < y[0] && v < y[1] && w < y[2]) visit((u * y[1] + v) * y[2] + w);
        }
  }

  __device__ int64_t places(int64_t window) const {
    int64_t count = 0;
    for_places(window, [&](int64_t) { ++count; });
    return count;
  }
};

// Where a window's maximum is: the first of equals; NaN wins.
__device__ inline int64_t place_of_maximum(const Windows& windows, const float* plane,
                                           int64_t window) {
  int64_t best = -1;
  windows.for_places(window, [&](int64_t place) {
    if (best < 0 || plane[place] > plane[best] || (isnan(plane[place]) && !isnan(plane[best])))
      best = place;
  });
  return best;
}

struct Maximum {
  Windows windows;
  const float* x;
  float* y;
  __device__ void operator()(int64_t i) const {
    const float* plane = x + i / windows.y_plane() * windows.x_plane();
    const int64_t best = place_of_maximum(windows, plane, i % windows.y_plane());
    y[i] = best < 0 ? -INFINITY : plane[best];
  }
};

struct Average {
  Windows windows;
  int64_t divisor;  // 0: as many as are real
  const float* x;
  float* y;
  __device__ void operator()(int64_t i) const {
    const float* plane = x + i / windows.y_plane() * windows.x_plane();
    double total = 0;
    int64_t count = 0;
    windows.for_places(i % windows.y_plane(), [&](int64_t place) {
      total += plane[place];
      ++count;
    });
    y[i] = static_cast<float>(total / static_cast<double>(divisor > 0 ? divisor : count));
  }
};

struct FindMaximum {
  Windows windows;
  const float* x;
  int64_t* places;
  __device__ void operator()(int64_t i) const {
    places[i] = place_of_maximum(windows, x + i / windows.y_plane() * windows.x_plane(),
                                 i % windows.y_plane());
  }
};

struct MaximumGrad {
  Windows windows;
  const float* dy;
  const int64_t* places;
  float* dx;
  __device__ void operator()(int64_t i) const {
    const int64_t place = i % windows.x_plane();
    const int64_t first = i / windows.x_plane() * windows.y_plane();
    float total = 0;
    windows.for_windows(place, [&](int64_t window) {
      if (places[first + window] == place) total += dy[first + window];
    });
    dx[i] = total;
  }
};

struct AverageGrad {
  Windows windows;
  int64_t divisor;
  const float* dy;
  float* dx;
  __device__ void operator()(int64_t i) const {
    const int64_t first = i / windows.x_plane() * windows.y_plane();
    float total = 0;
    windows.for_windows(i % windows.x_plane(), [&](int64_t window) {
      total +=
          dy[first + window] / static_cast<float>(divisor > 0 ? divisor : windows.places(window));
    });
    dx[i] = total;
  }
};

void require_float(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no GPU kernel for ", request.in[0].dtype);
}

// Padding counts where that is asked for; windows that reach past it are the host's.
int64_t divisor_of(const PoolAttrs& attrs, const Dims& x, const Dims& y) {
  if (!attrs.count_include_pad) return 0;
  const Window window =
      resolved(attrs.window, attrs.window.kernel, to_shape(Dims(x.begin() + 2, x.end())));
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    supported(
        covering_end_pad(window, i, x[i + 2], y[i + 2]) <= window.pads[window.kernel.size() + i],
        "count_include_pad with windows that reach past the padding");
  return element_count(Dims(window.kernel.begin(), window.kernel.end()));
}

std::unique_ptr<Kernel> max_kernel(const KernelRequest& request, const PoolAttrs& attrs) {
  require_float(request);
  const Windows windows(attrs, request.in[0].dims, request.out[0].dims);
  return make_kernel([windows, count = request.out[0].count()](const KernelArgs& args) {
    for_elements(args, count,
                 Maximum{windows, args.in[0].as<const float>(), args.out[0].as<float>()});
  });
}

std::unique_ptr<Kernel> average_kernel(const KernelRequest& request, const PoolAttrs& attrs) {
  require_float(request);
  const Windows windows(attrs, request.in[0].dims, request.out[0].dims);
  const int64_t divisor = divisor_of(attrs, request.in[0].dims, request.out[0].dims);
  return make_kernel([=, count = request.out[0].count()](const KernelArgs& args) {
    for_elements(args, count,
                 Average{windows, divisor, args.in[0].as<const float>(), args.out[0].as<float>()});
  });
}

// Operands dy, x.
std::unique_ptr<Kernel> prepare_max_grad(const KernelRequest& request) {
  require_float(request);
  const Windows windows(pool_attrs_of(request), request.in[1].dims, request.in[0].dims);
  const int64_t from = request.in[0].count(), to = request.out[0].count();
  auto run = [=](const KernelArgs& args) {
    auto* places = reinterpret_cast<int64_t*>(args.workspace);
    for_elements(args, from, FindMaximum{windows, args.in[1].as<const float>(), places});
    for_elements(
        args, to,
        MaximumGrad{windows, args.in[0].as<const float>(), places, args.out[0].as<float>()});
  };
  return make_kernel(run, "", static_cast<std::size_t>(from) * sizeof(int64_t));
}

std::unique_ptr<Kernel> average_grad_kernel(const KernelRequest& request, const PoolAttrs& attrs) {
  require_float(request);
  const Windows windows(attrs, request.out[0].dims, request.in[0].dims);
  const int64_t divisor = divisor_of(attrs, request.out[0].dims, request.in[0].dims);
  return make_kernel([=, count = request.out[0].count()](const KernelArgs& args) {
    for_elements(
        args, count,
        AverageGrad{windows, divisor, args.in[0].as<const float>(), args.out[0].as<float>()});
  });
}

}  // namespace

std::vector<KernelEntry> pool_cuda() {
  return {{"MaxPool", "", [](const KernelRequest& r) { return max_kernel(r, pool_attrs_of(r)); }},
          {"AveragePool", "",
           [](const KernelRequest& r) { return average_kernel(r, pool_attrs_of(r)); }},
          {"GlobalMaxPool", "",
           [](const KernelRequest& r) { return max_kernel(r, global_window(r.in[0].dims)); }},
          {"GlobalAveragePool", "",
           [](const KernelRequest& r) { return average_kernel(r, global_window(r.in[0].dims)); }},
          {"MaxPoolGrad", kOwnDomain, prepare_max_grad},
          {"AveragePoolGrad", kOwnDomain,
           [](const KernelRequest& r) { return average_grad_kernel(r, pool_attrs_of(r)); }},
          {"GlobalAveragePoolGrad", kOwnDomain, [](const KernelRequest& r) {
             return average_grad_kernel(r, global_window(r.out[0].dims));
           }}};
}

}  // namespace lockstep
