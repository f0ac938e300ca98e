#include <algorithm>
#include <cstring>
#include <numeric>

#include "operators/dispatch.h"
#include "operators/layout/layout.h"
#include "operators/room.h"
#include "operators/shape/shape.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

// A walk over a contiguous tensor of `dims` beside another one with free strides.
struct Walk {
  Dims dims;
  std::vector<int64_t> strides;  // of the other, in elements; may be 0 or negative
  int64_t base = 0;

  int64_t row_length() const { return dims.empty() ? 1 : dims.back(); }
  int64_t row_stride() const { return strides.empty() ? 1 : strides.back(); }
  int64_t rows() const { return row_length() == 0 ? 0 : element_count(dims) / row_length(); }
  int64_t at(int64_t row) const {
    int64_t offset = base;
    for (std::size_t i = dims.size(); i-- > 1;) {
      offset += row % dims[i - 1] * strides[i - 1];
      row /= dims[i - 1];
    }
    return offset;
  }
};

std::vector<int64_t> contiguous_strides(const Dims& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

enum class Direction { gather, scatter };  // contiguous side: destination, source

template <class T, Direction direction>
void copy_rows(const Walk& walk, const void* from, void* to, int threads) {
  const int64_t length = walk.row_length(), stride = walk.row_stride();
  parallel_for(walk.rows(), std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length)), threads,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   if constexpr (direction == Direction::gather) {
                     const T* source = static_cast<const T*>(from) + walk.at(row);
                     T* target = static_cast<T*>(to) + row * length;
                     for (int64_t i = 0; i < length; ++i) target[i] = source[i * stride];
                   } else {
                     const T* source = static_cast<const T*>(from) + row * length;
                     T* target = static_cast<T*>(to) + walk.at(row);
                     for (int64_t i = 0; i < length; ++i) target[i * stride] = source[i];
                   }
                 }
               });
}

template <Direction direction>
void copy_walk(const Walk& walk, std::size_t element, const void* from, void* to, int threads) {
  switch (element) {
    case 1:
      return copy_rows<uint8_t, direction>(walk, from, to, threads);
    case 2:
      return copy_rows<uint16_t, direction>(walk, from, to, threads);
    case 4:
      return copy_rows<uint32_t, direction>(walk, from, to, threads);
    default:
      return copy_rows<uint64_t, direction>(walk, from, to, threads);
  }
}

std::unique_ptr<Kernel> gather_kernel(Walk walk, const KernelRequest& request) {
  return make_kernel([walk = std::move(walk), element = size_of(request.in[0].dtype),
                      threads = request.threads](const KernelArgs& args) {
    copy_walk<Direction::gather>(walk, element, args.in[0].data, args.out[0].data, threads);
  });
}

// For views that the planner could not make views of.
std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel([bytes = request.out[0].bytes()](const KernelArgs& args) {
    if (bytes > 0) std::memcpy(args.out[0].data, args.in[0].data, bytes);
  });
}

std::unique_ptr<Kernel> prepare_transpose(const KernelRequest& request) {
  const Dims& x = request.in[0].dims;
  auto attributes = request.attributes();
  std::vector<int64_t> order = attributes.integers("perm");
  if (order.empty()) {
    order.resize(x.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<int64_t> strides = contiguous_strides(x);
  Walk walk{request.out[0].dims, {}, 0};
  for (int64_t axis : order) walk.strides.push_back(strides[axis]);
  return gather_kernel(std::move(walk), request);
}

// y as a transpose of x seen in more dimensions: `split` are x's, `order` names them in y's order.
std::unique_ptr<Kernel> transposed_view(const KernelRequest& request, const Dims& split,
                                        const std::vector<int>& order) {
  std::vector<int64_t> strides = contiguous_strides(split);
  Walk walk;
  for (int axis : order) {
    walk.dims.push_back(split[axis]);
    walk.strides.push_back(strides[axis]);
  }
  return gather_kernel(std::move(walk), request);
}

std::unique_ptr<Kernel> prepare_depth_to_space(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t b = attributes.integer("blocksize", 1);
  const Dims& x = request.in[0].dims;
  check(x[1] % (b * b) == 0, x[1], " channels do not divide into blocks of ", b);
  const int64_t c = x[1] / (b * b);
  if (attributes.text("mode", "DCR") == "DCR")
    return transposed_view(request, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  return transposed_view(request, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
}

std::unique_ptr<Kernel> prepare_space_to_depth(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t b = attributes.integer("blocksize", 1);
  const Dims& x = request.in[0].dims;
  check(x[2] % b == 0 && x[3] % b == 0, text_of(x), " does not divide into blocks of ", b);
  return transposed_view(request, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

std::unique_ptr<Kernel> prepare_expand(const KernelRequest& request) {
  const Dims& x = request.in[0].dims;
  std::vector<int64_t> strides = contiguous_strides(x);
  Walk walk{request.out[0].dims, std::vector<int64_t>(request.out[0].dims.size(), 0), 0};
  const std::size_t extra = walk.dims.size() - x.size();
  for (std::size_t i = 0; i < x.size(); ++i) walk.strides[extra + i] = x[i] == 1 ? 0 : strides[i];
  return gather_kernel(std::move(walk), request);
}

// Slice's operands from `first` on, against a tensor of shape `x`; `dims` is the slice's shape.
Walk slice_walk(const KernelRequest& request, std::size_t first, const Dims& x, const Dims& dims) {
  auto optional = [&](std::size_t operand, std::vector<int64_t> fallback) {
    bool given = operand < request.in.size() && request.in[operand].present();
    return given ? request.integers(operand) : fallback;
  };
  std::vector<int64_t> starts = request.integers(first);
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> axes = normal_axes(optional(first + 2, all), x.size());
  std::vector<int64_t> steps = optional(first + 3, std::vector<int64_t>(starts.size(), 1));
  Walk walk{dims, contiguous_strides(x), 0};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], size = x[axis];
    int64_t start = starts[i] < 0 ? starts[i] + size : starts[i];
    start = std::clamp<int64_t>(start, 0, steps[i] < 0 ? size - 1 : size);
    walk.base += start * walk.strides[axis];
    walk.strides[axis] *= steps[i];
  }
  return walk;
}

std::unique_ptr<Kernel> prepare_slice(const KernelRequest& request) {
  return gather_kernel(slice_walk(request, 1, request.in[0].dims, request.out[0].dims), request);
}

std::unique_ptr<Kernel> prepare_slice_grad(const KernelRequest& request) {
  Walk walk = slice_walk(request, 2, request.out[0].dims, request.in[0].dims);
  return make_kernel([walk, bytes = request.out[0].bytes(), element = size_of(request.in[0].dtype),
                      threads = request.threads](const KernelArgs& args) {
    std::memset(args.out[0].data, 0, bytes);
    copy_walk<Direction::scatter>(walk, element, args.in[0].data, args.out[0].data, threads);
  });
}

// A tensor and what it falls into along an axis: each part has so many bytes in each row.
struct Parts {
  int64_t rows = 1;
  std::vector<std::size_t> widths;
};

Parts parts_of(const KernelRequest& request, const Dims& whole,
               const std::vector<TensorDesc>& tensors) {
  AttributeReader reader = request.attributes();
  const int64_t axis = normal_axes({reader.integer("axis", 0)}, whole.size())[0];
  Parts parts;
  for (int64_t i = 0; i < axis; ++i) parts.rows *= whole[i];
  for (const TensorDesc& tensor : tensors)
    parts.widths.push_back(parts.rows == 0 ? 0
                                           : tensor.bytes() / static_cast<std::size_t>(parts.rows));
  return parts;
}

std::unique_ptr<Kernel> prepare_concat(const KernelRequest& request) {
  return make_kernel(
      [parts = parts_of(request, request.out[0].dims, request.in)](const KernelArgs& args) {
        auto* to = args.out[0].as<std::byte>();
        for (int64_t row = 0; row < parts.rows; ++row)
          for (std::size_t i = 0; i < parts.widths.size(); ++i) {
            if (parts.widths[i] == 0) continue;
            std::memcpy(to, args.in[i].as<std::byte>() + row * parts.widths[i], parts.widths[i]);
            to += parts.widths[i];
          }
      });
}

std::unique_ptr<Kernel> prepare_split(const KernelRequest& request) {
  return make_kernel(
      [parts = parts_of(request, request.in[0].dims, request.out)](const KernelArgs& args) {
        auto* from = args.in[0].as<std::byte>();
        for (int64_t row = 0; row < parts.rows; ++row)
          for (std::size_t i = 0; i < parts.widths.size(); ++i) {
            if (parts.widths[i] == 0) continue;
            std::memcpy(args.out[i].as<std::byte>() + row * parts.widths[i], from, parts.widths[i]);
            from += parts.widths[i];
          }
      });
}

// For every place of y the place of x it comes from along one dimension; -1: the constant.
std::vector<int64_t> pad_sources(int64_t x, int64_t y, int64_t begin, const std::string& mode) {
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < y; ++i) {
    int64_t at = i - begin;
    if (mode == "edge") {
      at = std::clamp<int64_t>(at, 0, x - 1);
    } else if (mode == "reflect") {
      while (x > 1 && (at < 0 || at >= x)) at = at < 0 ? -at : 2 * (x - 1) - at;
    } else if (at < 0 || at >= x) {
      at = -1;
    }
    sources.push_back(at);
  }
  return sources;
}

std::unique_ptr<Kernel> prepare_pad(const KernelRequest& request) {
  auto attributes = request.attributes();
  const std::string mode = attributes.text("mode", "constant");
  const std::vector<int64_t> pads = request.integers(1);
  const Dims x = request.in[0].dims, y = request.out[0].dims;
  const bool has_value = request.in.size() > 2 && request.in[2].present();
  std::vector<std::vector<int64_t>> sources;
  for (std::size_t i = 0; i < x.size(); ++i)
    sources.push_back(pad_sources(x[i], y[i], pads[i], mode));
  return make_kernel([=, strides = contiguous_strides(x), size = size_of(request.in[0].dtype),
                      count = request.out[0].count()](const KernelArgs& args) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, from = 0;
      bool inside = true;
      for (std::size_t d = y.size(); d-- > 0;) {
        const int64_t at = sources[d][rest % y[d]];
        rest /= y[d];
        inside = inside && at >= 0;
        from += at * strides[d];
      }
      std::byte* to = args.out[0].as<std::byte>() + i * size;
      if (inside)
        std::memcpy(to, args.in[0].as<std::byte>() + from * size, size);
      else if (has_value)
        std::memcpy(to, args.in[2].data, size);
      else
        std::memset(to, 0, size);
    }
  });
}

std::unique_ptr<Kernel> prepare_tile(const KernelRequest& request) {
  const Dims x = request.in[0].dims, y = request.out[0].dims;
  return make_kernel([=, strides = contiguous_strides(x), size = size_of(request.in[0].dtype),
                      count = request.out[0].count()](const KernelArgs& args) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, from = 0;
      for (std::size_t d = y.size(); d-- > 0;) {
        from += rest % y[d] % x[d] * strides[d];
        rest /= y[d];
      }
      std::memcpy(args.out[0].as<std::byte>() + i * size, args.in[0].as<std::byte>() + from * size,
                  size);
    }
  });
}

std::unique_ptr<Kernel> prepare_size(const KernelRequest& request) {
  return make_kernel([count = request.in[0].count()](const KernelArgs& args) {
    *args.out[0].as<int64_t>() = count;
  });
}

std::unique_ptr<Kernel> prepare_range(const KernelRequest& request) {
  return dispatch<float, double, int32_t, int64_t>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
      for (int64_t i = 0; i < count; ++i)
        args.out[0].as<T>()[i] =
            static_cast<T>(*args.in[0].as<T>() + static_cast<T>(i) * *args.in[2].as<T>());
    });
  });
}

// Along the channels blocks stay whole where every part has whole blocks.
Layouts concat_wish(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  if (normal_axes({reader.integer("axis", 0)}, request.out[0].dims.size())[0] != 1)
    return row_major(request);
  std::vector<std::size_t> parts(request.in.size());
  std::iota(parts.begin(), parts.end(), 0);
  return together(parts, {0})(request);
}

}  // namespace

std::vector<KernelEntry> shape_cpu() {
  return {{"Identity", "", prepare_copy, flat},
          {"StopGradient", kOwnDomain, prepare_copy, flat},
          {"Reshape", "", prepare_copy},
          {"Flatten", "", prepare_copy},
          {"Squeeze", "", prepare_copy},
          {"Unsqueeze", "", prepare_copy},
          {"Transpose", "", prepare_transpose},
          {"Concat", "", prepare_concat, concat_wish},
          {"Slice", "", prepare_slice},
          {"SliceGrad", kOwnDomain, prepare_slice_grad},
          {"Expand", "", prepare_expand},
          {"Split", "", prepare_split},
          {"Pad", "", prepare_pad},
          {"Tile", "", prepare_tile},
          {"DepthToSpace", "", prepare_depth_to_space},
          {"SpaceToDepth", "", prepare_space_to_depth},
          {"Size", "", prepare_size},
          {"Range", "", prepare_range}};
}

}  // namespace lockstep
