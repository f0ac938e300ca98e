// SPDX-License-Identifier: Apache-2.0
#include "operators/norm/rows.h"

#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// The size of a plane of x, [N, C, plane].
int64_t plane_of(const Dims& x) { return element_count(x) / std::max<int64_t>(1, x[0] * x[1]); }

}  // namespace

NormRows planes_of(const KernelRequest& request, std::size_t operand) {
  AttributeReader reader = request.attributes();
  const Dims& x = request.in[operand].dims;
  return {x[0] * x[1], plane_of(x), x[1], reader.number("epsilon", 1e-5F)};
}

NormRows last_axes_of(const KernelRequest& request, std::size_t operand) {
  AttributeReader reader = request.attributes();
  const Dims& x = request.in[operand].dims;
  const int64_t axis = normal_axes({reader.integer("axis", -1)}, x.size())[0];
  NormRows rows;
  for (int64_t i = 0; i < axis; ++i) rows.count *= x[i];
  rows.length = element_count(x) / std::max<int64_t>(1, rows.count);
  rows.epsilon = reader.number("epsilon", 1e-5F);
  const TensorDesc& scale = request.in[operand + 1];
  check(scale.count() == rows.length, "scale is ", scale, ", should have ", rows.length,
        " elements");
  return rows;
}

Lrn lrn_of(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  const Dims& x = request.in[0].dims;
  return {reader.number("alpha", 1e-4F),
          reader.number("beta", 0.75F),
          reader.number("bias", 1),
          reader.integer("size", 1),
          x[0] * x[1],
          x[1],
          plane_of(x)};
}

}  // namespace lockstep
