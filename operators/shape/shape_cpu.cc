// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "operators/kit/dispatch.h"
#include "operators/kit/operator_helpers.h"
#include "operators/kit/wrapping_arithmetic.h"
#include "operators/layout/layout.h"
#include "operators/shape/pad.h"
#include "operators/shape/shape.h"
#include "operators/shape/strided.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

int64_t row_length(const StridedWalk& walk) { return walk.dims.empty() ? 1 : walk.dims.back(); }

int64_t start_of_row(const StridedWalk& walk, int64_t row) {
  int64_t offset = walk.base;
  for (std::size_t i = walk.dims.size(); i-- > 1;) {
    offset += row % walk.dims[i - 1] * walk.strides[i - 1];
    row /= walk.dims[i - 1];
  }
  return offset;
}

enum class Direction { gather, scatter };  // contiguous side: destination, source

template <class T, Direction direction>
void copy_rows(const StridedWalk& walk, const void* from, void* to, int threads) {
  const int64_t length = row_length(walk), stride = walk.strides.empty() ? 1 : walk.strides.back();
  const int64_t rows = length == 0 ? 0 : element_count(walk.dims) / length;
  parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length)), threads,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   if constexpr (direction == Direction::gather) {
                     const T* source = static_cast<const T*>(from) + start_of_row(walk, row);
                     T* target = static_cast<T*>(to) + row * length;
                     for (int64_t i = 0; i < length; ++i) target[i] = source[i * stride];
                   } else {
                     const T* source = static_cast<const T*>(from) + row * length;
                     T* target = static_cast<T*>(to) + start_of_row(walk, row);
                     for (int64_t i = 0; i < length; ++i) target[i * stride] = source[i];
                   }
                 }
               });
}

template <Direction direction>
void copy_walk(const StridedWalk& walk, std::size_t element, const void* from, void* to,
               int threads) {
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

// A kernel for the walk that `plan` derives from a request.
template <StridedWalk (*plan)(const KernelRequest&)>
std::unique_ptr<Kernel> gathered(const KernelRequest& request) {
  return make_kernel([walk = plan(request), element = size_of(request.in[0].dtype),
                      threads = request.threads](const KernelArgs& args) {
    copy_walk<Direction::gather>(walk, element, args.in[0].data, args.out[0].data, threads);
  });
}

std::unique_ptr<Kernel> prepare_slice_grad(const KernelRequest& request) {
  return make_kernel([walk = slice_grad_walk(request), bytes = request.out[0].bytes(),
                      element = size_of(request.in[0].dtype),
                      threads = request.threads](const KernelArgs& args) {
    std::memset(args.out[0].data, 0, bytes);
    copy_walk<Direction::scatter>(walk, element, args.in[0].data, args.out[0].data, threads);
  });
}

// A copy, for views that the planner could not make aliases.
std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel([bytes = request.out[0].bytes()](const KernelArgs& args) {
    if (bytes > 0) std::memcpy(args.out[0].data, args.in[0].data, bytes);
  });
}

// A tensor and its parts along an axis, with the number of bytes per row of each part.
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
    parts.widths.push_back(parts.rows == 0 ? 0 : tensor.bytes() / parts.rows);
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

std::unique_ptr<Kernel> prepare_size(const KernelRequest& request) {
  return make_kernel([count = request.in[0].count()](const KernelArgs& args) {
    *args.out[0].as<int64_t>() = count;
  });
}

std::unique_ptr<Kernel> prepare_range(const KernelRequest& request) {
  return dispatch<Numbers>(request.out[0].dtype, [&]<class T>() {
    return make_kernel([count = request.out[0].count()](const KernelArgs& args) {
      for (int64_t i = 0; i < count; ++i)
        args.out[0].as<T>()[i] =
            plus(*args.in[0].as<T>(), times(static_cast<T>(i), *args.in[2].as<T>()));
    });
  });
}

// Keeps channel blocks in a concatenation along the channels if every part has whole blocks.
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
  return {{"Identity", "", {{"CPU", anything, prepare_copy, flat}}},
          {"StopGradient", kOwnDomain, {{"CPU", anything, prepare_copy, flat}}},
          {"Reshape", "", {{"CPU", anything, prepare_copy}}},
          {"Flatten", "", {{"CPU", anything, prepare_copy}}},
          {"Squeeze", "", {{"CPU", anything, prepare_copy}}},
          {"Unsqueeze", "", {{"CPU", anything, prepare_copy}}},
          {"Transpose", "", {{"CPU", anything, gathered<transpose_walk>}}},
          {"Concat", "", {{"CPU", anything, prepare_concat, concat_wish}}},
          {"Slice", "", {{"CPU", anything, gathered<slice_walk>}}},
          {"SliceGrad", kOwnDomain, {{"CPU", anything, prepare_slice_grad}}},
          {"Expand", "", {{"CPU", anything, gathered<expand_walk>}}},
          {"Split", "", {{"CPU", anything, prepare_split}}},
          {"Pad", "", {{"CPU", anything, prepare_pad}}},
          {"PadGrad", kOwnDomain, {{"CPU", takes<Floats>(), prepare_pad_grad}}},
          {"Tile", "", {{"CPU", anything, gathered<tile_walk>}}},
          {"DepthToSpace", "", {{"CPU", anything, gathered<depth_to_space_walk>}}},
          {"SpaceToDepth", "", {{"CPU", anything, gathered<space_to_depth_walk>}}},
          {"Size", "", {{"CPU", anything, prepare_size}}},
          {"Range", "", {{"CPU", makes<Numbers>(), prepare_range}}}};
}

}  // namespace lockstep
