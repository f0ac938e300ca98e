// SPDX-License-Identifier: Apache-2.0
#include "operators/layout/layout.h"

#include <algorithm>
#include <tuple>

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// True if the tensor can have `layout`, a layout other than row-major.
bool may_lie(const TensorDesc& tensor, Layout layout, LastBlock last) {
  if (layout.is_tiles()) return layout.tiles().are_filled_by(tensor.dims);
  return (is_floating(tensor.dtype) || tensor.dtype == DType::boolean) && tensor.count() > 0 &&
         tensor.dims.size() >= 3 && tensor.dims.size() <= 5 &&
         (last == LastBlock::padded || tensor.dims[1] % layout.block() == 0);
}

// Preference between the layouts of two operands: blocks before tiles, wide before narrow, plain
// tiles before transposed tiles.
bool is_preferred(Layout layout, Layout to) {
  if (!layout.is_tiles() || !to.is_tiles()) return layout > to;
  const auto form = [](const FilterTiles& tiles) {
    return std::tuple(tiles.pairs, tiles.turned, tiles.side);
  };
  return form(layout.tiles()) < form(to.tiles());
}

Layouts flat_layouts(const KernelRequest& request, LastBlock last) {
  // A collective may omit results.
  const auto made = std::ranges::find_if(request.out, &TensorDesc::present);
  const Dims& shape = made->dims;
  Layout layout;
  for (const TensorDesc& operand : request.in)
    if (operand.dims == shape && !operand.layout.is_rows() &&
        (layout.is_rows() || is_preferred(operand.layout, layout)))
      layout = operand.layout;
  auto fits = [&](const TensorDesc& tensor) {
    return !tensor.present() || (tensor.dims == shape && may_lie(tensor, layout, last)) ||
           (last == LastBlock::whole && tensor.dims != shape && tensor.count() == 1);
  };
  if (layout.is_rows() || !std::all_of(request.in.begin(), request.in.end(), fits) ||
      !std::all_of(request.out.begin(), request.out.end(), fits))
    return row_major(request);
  auto alike = [&](const std::vector<TensorDesc>& tensors) {
    std::vector<Layout> all;
    for (const TensorDesc& tensor : tensors)
      all.push_back(tensor.present() && tensor.dims == shape ? layout : Layout());
    return all;
  };
  return {alike(request.in), alike(request.out)};
}

}  // namespace

Layouts flat(const KernelRequest& request) { return flat_layouts(request, LastBlock::whole); }

Layouts flat_padded(const KernelRequest& request) {
  const Layouts whole = flat(request);
  return whole == row_major(request) ? flat_layouts(request, LastBlock::padded) : whole;
}

LayoutPreference together(const std::vector<std::size_t>& in, const std::vector<std::size_t>& out,
                          LastBlock last) {
  return [in, out, last](const KernelRequest& request) {
    Layouts layouts = row_major(request);
    Layout widest;  // of the operands' channel blocks
    for (std::size_t i : in) widest = std::max(widest, request.in[i].layout);
    for (std::size_t i : in)
      if (!may_lie(request.in[i], widest, last)) return layouts;
    for (std::size_t i : out)
      if (!may_lie(request.out[i], widest, last)) return layouts;
    for (std::size_t i : in) layouts.in[i] = widest;
    for (std::size_t i : out) layouts.out[i] = widest;
    return layouts;
  };
}

std::vector<Op> layout_ops() {
  return {{.type = "Reorder",
           .domain = kOwnDomain,
           .no_body = kOnlyPlanned,
           .signature = Signature{"The same tensor in another layout.", {{"x"}}, {{"y"}}},
           .law = same_as_first,
           .flops = no_flops}};
}

}  // namespace lockstep
