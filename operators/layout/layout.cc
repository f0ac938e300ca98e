// SPDX-License-Identifier: Apache-2.0
#include "operators/layout/layout.h"

#include <algorithm>

#include "operators/kit/room.h"

namespace lockstep {
namespace {

// True if the tensor can be laid out in blocks of `block` channels, or in tiles.
bool takes_blocks(const TensorDesc& tensor, int block, LastBlock last) {
  if (is_in_tiles(block)) {
    const FilterTiles tiles = tiles_of(block);
    return tensor.dims.size() == 4 && tensor.dims[0] % tiles.outputs() == 0 &&
           tensor.dims[1] % tiles.inputs() == 0;
  }
  return (is_floating(tensor.dtype) || tensor.dtype == DType::boolean) && tensor.count() > 0 &&
         tensor.dims.size() >= 3 && tensor.dims.size() <= 5 &&
         (last == LastBlock::padded || tensor.dims[1] % block == 0);
}

Layouts flat_layouts(const KernelRequest& request, LastBlock last) {
  // A collective may lack results.
  const auto made = std::ranges::find_if(request.out, &TensorDesc::present);
  const Dims& shape = made->dims;
  int block = 1;
  for (const TensorDesc& operand : request.in)
    if (const int other = operand.channel_block;
        operand.dims == shape && other != 1 && (block == 1 || other > block))
      block = other;
  auto fits = [&](const TensorDesc& tensor) {
    return !tensor.present() || (tensor.dims == shape && takes_blocks(tensor, block, last)) ||
           (last == LastBlock::whole && tensor.dims != shape && tensor.count() == 1);
  };
  if (block == 1 || !std::all_of(request.in.begin(), request.in.end(), fits) ||
      !std::all_of(request.out.begin(), request.out.end(), fits))
    return row_major(request);
  auto blocks = [&](const std::vector<TensorDesc>& tensors) {
    std::vector<int> all;
    for (const TensorDesc& tensor : tensors)
      all.push_back(tensor.present() && tensor.dims == shape ? block : 1);
    return all;
  };
  return {blocks(request.in), blocks(request.out)};
}

}  // namespace

Layouts flat(const KernelRequest& request) { return flat_layouts(request, LastBlock::whole); }

Layouts flat_padded(const KernelRequest& request) {
  const Layouts whole = flat(request);
  return whole == row_major(request) ? flat_layouts(request, LastBlock::padded) : whole;
}

LayoutWish together(const std::vector<std::size_t>& in, const std::vector<std::size_t>& out,
                    LastBlock last) {
  return [in, out, last](const KernelRequest& request) {
    Layouts layouts = row_major(request);
    int block = 1;
    for (std::size_t i : in) block = std::max(block, request.in[i].channel_block);
    for (std::size_t i : in)
      if (!takes_blocks(request.in[i], block, last)) return layouts;
    for (std::size_t i : out)
      if (!takes_blocks(request.out[i], block, last)) return layouts;
    for (std::size_t i : in) layouts.in[i] = block;
    for (std::size_t i : out) layouts.out[i] = block;
    return layouts;
  };
}

std::vector<Op> layout_ops() {
  return {{.type = "Reorder",
           .domain = kOwnDomain,
           .no_body = kOnlyPlanned,
           .signature = Signature{"The same tensor in another layout.", {{"x"}}, {{"y"}}},
           .law = same_as_first}};
}

}  // namespace lockstep
