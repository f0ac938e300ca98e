// SPDX-License-Identifier: Apache-2.0
#include "operators/shape/strided.h"

#include <algorithm>
#include <numeric>

#include "operators/kit/operator_helpers.h"

namespace lockstep {

std::vector<int64_t> contiguous_strides(const Dims& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

namespace {

// y as a transpose of x with split dimensions: `split` are the dimensions of x; `order` lists them
// in y's order.
StridedWalk transposed_view(const Dims& split, const std::vector<int>& order) {
  std::vector<int64_t> strides = contiguous_strides(split);
  StridedWalk walk;
  for (int axis : order) {
    walk.dims.push_back(split[axis]);
    walk.strides.push_back(strides[axis]);
  }
  return walk;
}

// The walk for Slice's operands from `first` on. `x` is the shape of the tensor, `dims` the shape
// of the slice.
StridedWalk sliced(const KernelRequest& request, std::size_t first, const Dims& x,
                   const Dims& dims) {
  auto optional = [&](std::size_t operand, const std::vector<int64_t>& fallback) {
    bool given = operand < request.in.size() && request.in[operand].present();
    return given ? request.integers(operand) : fallback;
  };
  std::vector<int64_t> starts = request.integers(first);
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> axes = normal_axes(optional(first + 2, all), x.size());
  std::vector<int64_t> steps = optional(first + 3, std::vector<int64_t>(starts.size(), 1));
  StridedWalk walk{dims, contiguous_strides(x), 0};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], size = x[axis];
    int64_t start = starts[i] < 0 ? starts[i] + size : starts[i];
    start = std::clamp<int64_t>(start, 0, steps[i] < 0 ? std::max<int64_t>(1, size) - 1 : size);
    walk.base += start * walk.strides[axis];
    // With a single element the step does not matter, even if it is large.
    walk.strides[axis] = dims[axis] > 1 ? walk.strides[axis] * steps[i] : 0;
  }
  return walk;
}

}  // namespace

StridedWalk transpose_walk(const KernelRequest& request) {
  const Dims& x = request.in[0].dims;
  auto attributes = request.attributes();
  std::vector<int64_t> order = attributes.integers("perm");
  if (order.empty()) {
    order.resize(x.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  std::vector<int64_t> strides = contiguous_strides(x);
  StridedWalk walk{request.out[0].dims, {}, 0};
  for (int64_t axis : order) walk.strides.push_back(strides[axis]);
  return walk;
}

StridedWalk depth_to_space_walk(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t b = attributes.integer("blocksize", 1);
  const Dims& x = request.in[0].dims;
  check(x[1] % (b * b) == 0, x[1], " channels do not divide into blocks of ", b);
  const int64_t c = x[1] / (b * b);
  if (attributes.text("mode", "DCR") == "DCR")
    return transposed_view({x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  return transposed_view({x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
}

StridedWalk space_to_depth_walk(const KernelRequest& request) {
  auto attributes = request.attributes();
  const int64_t b = attributes.integer("blocksize", 1);
  const Dims& x = request.in[0].dims;
  check(x[2] % b == 0 && x[3] % b == 0, x, " does not divide into blocks of ", b);
  return transposed_view({x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

StridedWalk expand_walk(const KernelRequest& request) {
  const Dims& x = request.in[0].dims;
  std::vector<int64_t> strides = contiguous_strides(x);
  StridedWalk walk{request.out[0].dims, std::vector<int64_t>(request.out[0].dims.size(), 0), 0};
  const std::size_t extra = walk.dims.size() - x.size();
  for (std::size_t i = 0; i < x.size(); ++i) walk.strides[extra + i] = x[i] == 1 ? 0 : strides[i];
  return walk;
}

StridedWalk slice_walk(const KernelRequest& request) {
  return sliced(request, 1, request.in[0].dims, request.out[0].dims);
}

StridedWalk slice_grad_walk(const KernelRequest& request) {
  return sliced(request, 2, request.out[0].dims, request.in[0].dims);
}

// Every dimension becomes two: the repeats, with stride 0, and the dimension of x.
StridedWalk tile_walk(const KernelRequest& request) {
  const Dims &x = request.in[0].dims, &y = request.out[0].dims;
  const std::vector<int64_t> strides = contiguous_strides(x);
  StridedWalk walk;
  for (std::size_t i = 0; i < x.size(); ++i) {
    walk.dims.insert(walk.dims.end(), {x[i] == 0 ? 0 : y[i] / x[i], x[i]});
    walk.strides.insert(walk.strides.end(), {0, strides[i]});
  }
  return walk;
}

}  // namespace lockstep
