// SPDX-License-Identifier: Apache-2.0
// A convolution in oneDNN's form.
#pragma once

#include <string>

#include "operators/conv/problem.h"
#include "operators/kit/dnnl.h"
#include "operators/layout/padding.h"

namespace lockstep {

// One convolution in oneDNN's form. All its tensors have one type.
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

  bool in_blocks = false;  // images have channel blocks if they have enough channels

  // The layout that a primitive prefers.
  dnnl::memory::desc any(const Dims& dims) const { return any_desc(dims, type); }
  // The layout that a primitive prefers, or channel blocks with `in_blocks`, unless most of them
  // would be padding.
  dnnl::memory::desc images(const Dims& dims) const {
    return in_blocks && worth_padding(dims[1], 16) ? desc_of({type, dims, Layout::blocks(16)})
                                                   : any(dims);
  }
  dnnl::memory::desc plain(const Dims& dims) const { return plain_desc(dims, type); }
  // The filters in their planned layout.
  dnnl::memory::desc filters(const TensorDesc& w) const {
    return w.layout.is_rows() ? plain(plain_w) : desc_of(w);
  }
  // A primitive's layout of filters, as a planned layout.
  Layout wished_filters(const dnnl::memory::desc& desc) const {
    return plain_w == w ? filter_layout_of(desc, w) : Layout();
  }
};

// Describes a primitive. CPU plans do not support channels-last, the layout of oneDNN's AMX
// kernels. oneDNN's kernels for channel blocks compute the convolutions that Lockstep's AMX methods
// refuse.
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
