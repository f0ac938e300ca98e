// Batch normalisation by oneDNN, of either version. Its result has the layout of its data.
#pragma once

#include <utility>
#include <vector>

#include "operators/kit/dnnl.h"

namespace lockstep {

dnnl::batch_normalization_forward::primitive_desc describe_batch_norm(
    dnnl::prop_kind kind, const dnnl::memory::desc& x, float epsilon,
    dnnl::normalization_flags flags);
dnnl::batch_normalization_backward::primitive_desc describe_batch_norm_backward(
    const dnnl::batch_normalization_forward::primitive_desc& forward, const dnnl::memory::desc& x,
    float epsilon, dnnl::normalization_flags flags);
// Operands of the gradient that no result depends on: version 2 asks for the shift, for which it
// takes any vector of channels, version 3 refuses one operand too many.
std::vector<std::pair<int, dnnl::memory>> batch_norm_unread(const dnnl::memory& vector);

}  // namespace lockstep
