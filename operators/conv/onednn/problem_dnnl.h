// SPDX-License-Identifier: Apache-2.0
// A convolution as oneDNN describes it.
#pragma once

#include <string>

#include "operators/conv/problem.h"
#include "operators/kit/dnnl.h"
#include "operators/layout/padding.h"

namespace lockstep {

// One convolution in oneDNN's form. All its tensors are of one type.
struct DnnlProblem {
  DType type;
  Dims x, w;
  Dims plain_w;  // with the group dimension split off
  Dims y;
  Dims strides, dilations, begin, end;

  explicit DnnlProblem(const ConvProblem& problem)
      : DnnlProblem(problem.window, problem.group, problem.x.dtype, problem.x.dims, problem.w.dims,
                    problem.y.dims) {}

  // `window` has all defaults resolved; its end padding follows from the sizes.
  DnnlProblem(const Window& window, int64_t group, DType type, const Dims& x, const Dims& w,
              const Dims& y)
      : type(type), x(x), w(w), plain_w(w), y(y) {
    if (group > 1) {
      plain_w[0] /= group;
      plain_w.insert(plain_w.begin(), group);
    }
    strides = window.strides;
    for (std::size_t i = 0; i + 2 < x.size(); ++i) {
      dilations.push_back(window.dilations[i] - 1);
      begin.push_back(window.pads[i]);
      // oneDNN requires windows to end exactly at the padding.
      end.push_back(covering_end_pad(window, i, x[i + 2], y[i + 2]));
    }
  }

  bool in_blocks = false;  // images of enough channels

  // In whatever layout a primitive likes best.
  dnnl::memory::desc any(const Dims& dims) const { return any_desc(dims, type); }
  // Likewise, or in channel blocks, unless most of them were padding.
  dnnl::memory::desc images(const Dims& dims) const {
    return in_blocks && worth_padding(dims[1], 16) ? desc_of({type, dims, Layout::blocks(16)})
                                                   : any(dims);
  }
  dnnl::memory::desc plain(const Dims& dims) const { return plain_desc(dims, type); }
  // Filters as they lie.
  dnnl::memory::desc filters(const TensorDesc& w) const {
    return w.layout.is_rows() ? plain(plain_w) : desc_of(w);
  }
  // A primitive's layout of filters in the plan's terms.
  Layout wished_filters(const dnnl::memory::desc& desc) const {
    return plain_w == w ? filter_layout_of(desc, w) : Layout();
  }
};

// Plans for CPUs do not know channels last, the layout of oneDNN's kernels for matrix units: its
// kernels for channel blocks take what our own (amx) leave.
template <class Describe>
auto described(DnnlProblem p, const Describe& describe) {
  p.in_blocks = p.type == DType::bfloat16 && multiplies_bfloat16_matrices() && p.x.size() >= 3 &&
                p.x.size() <= 5;
  try {
    auto desc = describe(p);
    if (!p.in_blocks || std::string(desc.impl_info_str()).starts_with("jit")) return desc;
  } catch (const dnnl::error&) {
    if (!p.in_blocks) throw;  // else there is no kernel for these layouts
  }
  p.in_blocks = false;
  return describe(p);
}

}  // namespace lockstep
