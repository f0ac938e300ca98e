// Batch normalisation by oneDNN, of either version. The result has its data's layout.
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
// Unused operands of the gradient: version 2 requires the shift, for which any per-channel vector
// will do, version 3 rejects extra operands.
std::vector<std::pair<int, dnnl::memory>> batch_norm_unread(const dnnl::memory& vector);

}  // namespace lockstep
