#include "operators/batch_norm/batch_norm_dnnl.h"

namespace lockstep {

#if DNNL_VERSION_MAJOR >= 3
dnnl::batch_normalization_forward::primitive_desc describe_batch_norm(
    dnnl::prop_kind kind, const dnnl::memory::desc& x, float epsilon,
    dnnl::normalization_flags flags) {
  return {cpu_engine(), kind, x, x, epsilon, flags, planned_scratchpad()};
}
dnnl::batch_normalization_backward::primitive_desc describe_batch_norm_backward(
    const dnnl::batch_normalization_forward::primitive_desc& forward, const dnnl::memory::desc& x,
    float epsilon, dnnl::normalization_flags flags) {
  return {cpu_engine(), dnnl::prop_kind::backward, x, x, x, epsilon, flags,
          forward,      planned_scratchpad()};
}
std::vector<std::pair<int, dnnl::memory>> batch_norm_unread(const dnnl::memory&) { return {}; }
#else
dnnl::batch_normalization_forward::primitive_desc describe_batch_norm(
    dnnl::prop_kind kind, const dnnl::memory::desc& x, float epsilon,
    dnnl::normalization_flags flags) {
  return {{kind, x, epsilon, flags}, planned_scratchpad(), cpu_engine()};
}
dnnl::batch_normalization_backward::primitive_desc describe_batch_norm_backward(
    const dnnl::batch_normalization_forward::primitive_desc& forward, const dnnl::memory::desc& x,
    float epsilon, dnnl::normalization_flags flags) {
  return {{dnnl::prop_kind::backward, x, x, epsilon, flags},
          planned_scratchpad(),
          cpu_engine(),
          forward};
}
std::vector<std::pair<int, dnnl::memory>> batch_norm_unread(const dnnl::memory& vector) {
  return {{DNNL_ARG_SHIFT, vector}};
}
#endif

}  // namespace lockstep
