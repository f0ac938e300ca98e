// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"
#include "operators/kit/operator_helpers.h"
#include "operators/layout/layout.h"
#include "operators/shape/pad.h"
#include "operators/shape/rows_cuda.h"
#include "operators/shape/shape.h"
#include "operators/shape/strided.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel([bytes = request.out[0].bytes()](const KernelArgs& args) {
    args.queue->copy(args.out[0].data, args.in[0].data, bytes);
  });
}

// A StridedWalk on the device. Dimensions of size 1 are dropped, and neighbouring dimensions with
// matching strides are merged.
struct DeviceWalk {
  static constexpr int kMost = 12;
  int dims = 0;
  int64_t base = 0, size[kMost], stride[kMost];

  explicit DeviceWalk(const StridedWalk& walk) : base(walk.base) {
    for (std::size_t i = 0; i < walk.dims.size(); ++i) {
      if (walk.dims[i] == 1) continue;
      if (dims > 0 && stride[dims - 1] == walk.strides[i] * walk.dims[i]) {
        size[dims - 1] *= walk.dims[i];
        stride[dims - 1] = walk.strides[i];
        continue;
      }
      supported(dims < kMost, "moves data over at most ", kMost, " dimensions");
      size[dims] = walk.dims[i];
      stride[dims++] = walk.strides[i];
    }
  }
  // The offset on the strided side for element i of the contiguous side.
  __device__ int64_t at(int64_t i) const {
    return i <= UINT32_MAX ? decoded(static_cast<uint32_t>(i)) : decoded(static_cast<uint64_t>(i));
  }

 private:
  template <class Index>
  __device__ int64_t decoded(Index rest) const {
    int64_t offset = base;
    for (int d = dims - 1; d >= 0; --d) {
      const auto whole = static_cast<Index>(size[d]);
      offset += static_cast<int64_t>(rest % whole) * stride[d];
      rest /= whole;
    }
    return offset;
  }
};

template <class T>
struct Gathered {
  DeviceWalk walk;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const { to[i] = from[walk.at(i)]; }
};
template <class T>
struct Scattered {
  DeviceWalk walk;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const { to[walk.at(i)] = from[i]; }
};

template <StridedWalk (*plan)(const KernelRequest&)>
std::unique_ptr<Kernel> gathered(const KernelRequest& request) {
  const DeviceWalk walk(plan(request));
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel([walk, count = request.out[0].count()](const KernelArgs& args) {
      for_elements(args, count, Gathered<T>{walk, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

std::unique_ptr<Kernel> prepare_slice_grad(const KernelRequest& request) {
  const DeviceWalk walk(slice_grad_walk(request));
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel([walk, count = request.in[0].count(),
                        bytes = request.out[0].bytes()](const KernelArgs& args) {
      check_cuda(cudaMemsetAsync(args.out[0].data, 0, bytes, stream_of(args)), "zeros");
      for_elements(args, count, Scattered<T>{walk, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

// The source of each element of a padded tensor.
struct Padding {
  static constexpr int kMostDims = 8;
  PadMode mode;
  int dims;
  int64_t x[kMostDims], y[kMostDims], before[kMostDims];

  Padding(PadMode mode, const Dims& of_x, const Dims& of_y, const std::vector<int64_t>& pads)
      : mode(mode), dims(static_cast<int>(of_x.size())) {
    for (int d = 0; d < dims; ++d) {
      const std::size_t at = d;
      x[d] = of_x[at];
      y[d] = of_y[at];
      before[d] = pads[at];
    }
  }
  // The source's index; -1 if the element is padding.
  __device__ int64_t source(int64_t i) const {
    int64_t from = 0, stride = 1;
    for (int d = dims - 1; d >= 0; --d) {
      const int64_t at = pad_source(mode, i % y[d] - before[d], x[d]);
      if (at < 0) return -1;
      from += at * stride;
      stride *= x[d];
      i /= y[d];
    }
    return from;
  }
};

template <class T>
struct Padded {
  Padding padding;
  const T *x, *value;  // no value: zero
  T* y;
  __device__ void operator()(int64_t i) const {
    const int64_t from = padding.source(i);
    y[i] = from >= 0 ? x[from] : value ? *value : T(0);
  }
};

// Each thread adds the gradients of all copies of one element of x, in the order of y.
template <class T>
struct SumPadded {
  Padding padding;
  const T* dy;
  T* dx;
  __device__ PadCopies copies(int d, int64_t place) const {
    return pad_copies(padding.mode, place, padding.x[d], padding.before[d], padding.y[d]);
  }
  __device__ void operator()(int64_t i) const {
    PadCopies first[Padding::kMostDims], now[Padding::kMostDims];
    int64_t rest = i;
    bool taken = true;
    for (int d = padding.dims - 1; d >= 0; --d) {
      now[d] = first[d] = copies(d, rest % padding.x[d]);
      rest /= padding.x[d];
      taken = taken && first[d].more();
    }
    Computed<T> total = 0;
    while (taken) {
      int64_t from = 0;
      for (int d = 0; d < padding.dims; ++d) from = from * padding.y[d] + now[d].at;
      total += computed(dy[from]);
      int d = padding.dims - 1;
      for (; d >= 0; --d) {
        now[d].next();
        if (now[d].more()) break;
        now[d] = first[d];
      }
      taken = d >= 0;
    }
    dx[i] = stored<T>(total);
  }
};

std::unique_ptr<Kernel> gpu_pad_grad(const KernelRequest& request) {
  return dispatch<AllFloats>(request.in[0].dtype, [&]<class Host>() {
    using T = DeviceType<Host>;
    return make_kernel([padding = Padding(pad_mode(request), request.out[0].dims,
                                          request.in[0].dims, request.integers(2)),
                        count = request.out[0].count()](const KernelArgs& args) {
      for_elements(args, count,
                   SumPadded<T>{padding, args.in[0].as<const T>(), args.out[0].as<T>()});
    });
  });
}

std::unique_ptr<Kernel> gpu_pad(const KernelRequest& request) {
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel([padding = Padding(pad_mode(request), request.in[0].dims,
                                          request.out[0].dims, request.integers(1)),
                        count = request.out[0].count()](const KernelArgs& args) {
      const T* value = args.in.size() > 2 ? args.in[2].as<const T>() : nullptr;
      for_elements(args, count,
                   Padded<T>{padding, args.in[0].as<const T>(), value, args.out[0].as<T>()});
    });
  });
}

// A tensor and its parts along an axis, with the number of bytes per row of each part.
struct Parts {
  std::size_t rows = 1, row_bytes = 0;
  std::vector<std::size_t> widths;

  Parts(const KernelRequest& request, const TensorDesc& whole,
        const std::vector<TensorDesc>& tensors) {
    AttributeReader reader = request.attributes();
    const int64_t axis = normal_axes({reader.integer("axis", 0)}, whole.dims.size())[0];
    for (int64_t i = 0; i < axis; ++i) rows *= static_cast<std::size_t>(whole.dims[i]);
    if (rows == 0) return;
    row_bytes = whole.bytes() / rows;
    for (const TensorDesc& tensor : tensors) widths.push_back(tensor.bytes() / rows);
  }

  // Calls copy(part, offset in a row of the whole tensor, width).
  template <class Copy>
  void for_each(const Copy& copy) const {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > 0) copy(i, offset, widths[i]);
      offset += widths[i];
    }
  }
};

std::unique_ptr<Kernel> prepare_concat(const KernelRequest& request) {
  return make_kernel([parts = Parts(request, request.out[0], request.in)](const KernelArgs& args) {
    const cudaStream_t stream = stream_of(args);
    parts.for_each([&](std::size_t i, std::size_t offset, std::size_t width) {
      RowCopy{parts.rows, width, parts.row_bytes, width}.run(
          stream, args.out[0].as<std::byte>() + offset, args.in[i].data);
    });
  });
}

std::unique_ptr<Kernel> prepare_split(const KernelRequest& request) {
  return make_kernel([parts = Parts(request, request.in[0], request.out)](const KernelArgs& args) {
    const cudaStream_t stream = stream_of(args);
    parts.for_each([&](std::size_t i, std::size_t offset, std::size_t width) {
      RowCopy{parts.rows, width, width, parts.row_bytes}.run(
          stream, args.out[i].data, args.in[0].as<const std::byte>() + offset);
    });
  });
}

}  // namespace

std::vector<KernelEntry> shape_cuda() {
  std::vector<KernelEntry> entries{
      {"Concat", "", {{"GPU", anything, prepare_concat}}},
      {"Split", "", {{"GPU", anything, prepare_split}}},
      {"Identity", "", {{"GPU", anything, prepare_copy, flat}}},
      {"StopGradient", kOwnDomain, {{"GPU", anything, prepare_copy, flat}}},
      {"Transpose", "", {{"GPU", anything, gathered<transpose_walk>}}},
      {"Slice", "", {{"GPU", anything, gathered<slice_walk>}}},
      {"SliceGrad", kOwnDomain, {{"GPU", anything, prepare_slice_grad}}},
      {"Expand", "", {{"GPU", anything, gathered<expand_walk>}}},
      {"Tile", "", {{"GPU", anything, gathered<tile_walk>}}},
      {"Pad", "", {{"GPU", up_to_dims(Padding::kMostDims), gpu_pad}}},
      {"PadGrad",
       kOwnDomain,
       {{"GPU", every({takes<AllFloats>(), up_to_dims(Padding::kMostDims)}), gpu_pad_grad}}},
      {"DepthToSpace", "", {{"GPU", anything, gathered<depth_to_space_walk>}}},
      {"SpaceToDepth", "", {{"GPU", anything, gathered<space_to_depth_walk>}}}};
  for (const char* type : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    entries.push_back({type, "", {{"GPU", anything, prepare_copy}}});
  return entries;
}

}  // namespace lockstep
