// SPDX-License-Identifier: Apache-2.0
// The extent of a reduction or of a ChannelSums.
#pragma once

#include <vector>

#include "lockstep/kernel.h"
#include "operators/kit/axis_loop.h"

namespace lockstep {

struct Axis {
  int64_t size;
  int64_t stride;
};

// The operand's kept and reduced dimensions. Neighbouring dimensions of one kind are merged.
struct Extent {
  std::vector<Axis> kept;     // slowest first
  std::vector<Axis> reduced;  // slowest first
  int64_t count = 1;          // elements per output

  // A size overflows only if another dimension is empty; then no element is read.
  static int64_t product(int64_t a, int64_t b) {
    int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? 0 : result;
  }

  Extent(const Dims& x, const std::vector<bool>& is_reduced) {
    int64_t stride = 1;
    std::vector<std::pair<Axis, bool>> merged;  // fastest first
    for (std::size_t i = x.size(); i-- > 0;) {
      if (x[i] != 1) {
        if (!merged.empty() && merged.back().second == is_reduced[i])
          merged.back().first.size = product(merged.back().first.size, x[i]);
        else
          merged.push_back({{x[i], stride}, is_reduced[i]});
      }
      stride = product(stride, x[i]);
    }
    for (std::size_t i = merged.size(); i-- > 0;)
      (merged[i].second ? reduced : kept).push_back(merged[i].first);
    for (const Axis& axis : reduced) count = product(count, axis.size);
  }
};

inline int64_t offset_of(const std::vector<Axis>& axes, int64_t index) {
  int64_t offset = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    offset += index % axes[i].size * axes[i].stride;
    index /= axes[i].size;
  }
  return offset;
}

inline bool is_channel_sums(const KernelRequest& request) {
  return request.node.domain() == kOwnDomain;
}

inline std::vector<bool> reduced_dimensions(const KernelRequest& request) {
  auto attributes = request.attributes();
  const Dims& x = request.in[0].dims;
  if (is_channel_sums(request)) {
    std::vector<bool> all_but_one(x.size(), true);
    all_but_one[attributes.integer("axis", 1)] = false;
    return all_but_one;
  }
  std::vector<int64_t> axes = attributes.integers("axes");
  if (request.in.size() > 1 && request.in[1].present()) axes = request.integers(1);
  std::vector<bool> is_reduced(x.size(), axes.empty());
  if (axes.empty() && attributes.integer("noop_with_empty_axes", 0) != 0)
    is_reduced.assign(x.size(), false);
  for (int64_t axis : normal_axes(axes, x.size())) is_reduced[axis] = true;
  return is_reduced;
}

inline Extent extent_of(const KernelRequest& request) {
  return Extent(request.in[0].dims, reduced_dimensions(request));
}

// The reason why a reduction is not a sum of floats with known axes; "" if it is one.
inline std::string no_sum_of_floats(const KernelRequest& request) {
  const DType type = request.in[0].dtype;
  if (!is_channel_sums(request) && type != DType::float32) return join("takes float32, not ", type);
  if (request.in.size() > 1 && request.in[1].present() && !request.constants[1])
    return "takes axes that are known";
  return "";
}

// The reason why a reduction is not a sum of floats over everything but the channels of images; ""
// if it is one.
inline std::string not_by_channel(const KernelRequest& request) {
  const TensorDesc& x = request.in[0];
  if (x.dims.size() < 2) return "takes images";
  if (const std::string why = no_sum_of_floats(request); !why.empty()) return why;
  const Extent extent = extent_of(request);
  const bool by_channel = x.count() > 0 && extent.kept.size() == 1 &&
                          extent.kept[0].size == x.dims[1] &&
                          extent.kept[0].stride == x.count() / (x.dims[0] * x.dims[1]) &&
                          !extent.reduced.empty() && extent.reduced.back().stride == 1;
  return by_channel ? "" : "keeps the channels alone";
}

}  // namespace lockstep
