// SPDX-License-Identifier: Apache-2.0
// All families of operators, each with its records and its kernels.
#pragma once

#include <cstddef>
#include <utility>

#include "operators/activation/activation.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/boxes/boxes.h"
#include "operators/collective/collective.h"
#include "operators/conv/conv.h"
#include "operators/dropout/dropout.h"
#include "operators/elementwise/elementwise.h"
#include "operators/fill/fill.h"
#include "operators/function/function.h"
#include "operators/gather/gather.h"
#include "operators/gemm/gemm.h"
#include "operators/grid_sample/grid_sample.h"
#include "operators/layout/layout.h"
#include "operators/loss/loss.h"
#include "operators/norm/norm.h"
#include "operators/optimizer/optimizer.h"
#include "operators/pool/pool.h"
#include "operators/process/process.h"
#include "operators/quantize/quantize.h"
#include "operators/random/random.h"
#include "operators/reduce/reduce.h"
#include "operators/resident/resident.h"
#include "operators/resize/resize.h"
#include "operators/rnn/rnn.h"
#include "operators/roi/roi.h"
#include "operators/shape/shape.h"
#include "operators/targets/targets.h"
#include "operators/weighted/weighted.h"

namespace lockstep {

struct OperatorFamily {
  std::vector<Op> (*ops)();
  std::vector<KernelEntry> (*cpu)();
  std::vector<KernelEntry> (*cuda)();
  bool communicates = false;  // no kernel may run in place of another device's kernel
};
// The kernels of a family that has none for a device.
inline std::vector<KernelEntry> no_kernels() { return {}; }

inline constexpr OperatorFamily kFamilies[] = {
    {activation_ops, activation_cpu, activation_cuda},
    {batch_norm_ops, batch_norm_cpu, batch_norm_cuda},
    {boxes_ops, boxes_cpu, no_kernels},
    {collective_ops, collective_cpu, collective_cuda, true},
    {conv_ops, conv_cpu, no_kernels},  // added by conv_cuda(), which needs the GPU's properties
    {dropout_ops, dropout_cpu, dropout_cuda},
    {elementwise_ops, elementwise_cpu, elementwise_cuda},
    {fill_ops, fill_cpu, fill_cuda},
    {function_ops, function_cpu, function_cuda},
    {gather_ops, gather_cpu, gather_cuda},
    {gemm_ops, gemm_cpu, gemm_cuda},
    {grid_sample_ops, grid_sample_cpu, grid_sample_cuda},
    {layout_ops, layout_cpu, layout_cuda},
    {loss_ops, loss_cpu, loss_cuda},
    {norm_ops, norm_cpu, norm_cuda},
    {optimizer_ops, optimizer_cpu, optimizer_cuda},
    {pool_ops, pool_cpu, pool_cuda},
    {process_ops, process_cpu, process_cuda, true},
    {quantize_ops, quantize_cpu, quantize_cuda},
    {random_ops, random_cpu, random_cuda},
    {reduce_ops, reduce_cpu, reduce_cuda},
    {resident_ops, resident_cpu, resident_cuda},
    {resize_ops, resize_cpu, resize_cuda},
    {rnn_ops, rnn_cpu, rnn_cuda},
    {roi_ops, roi_cpu, roi_cuda},
    {shape_ops, shape_cpu, shape_cuda},
    {targets_ops, targets_cpu, no_kernels},
    {weighted_ops, weighted_cpu, weighted_cuda},
};

// Calls visit(function, communicates) for member `function_of` of each family. The rows are read at
// compile time, so that a library links only against the functions that it uses.
template <auto function_of, class Visit>
void for_each_family(const Visit& visit) {
  const auto one = [&]<std::size_t number>() {
    constexpr auto function = kFamilies[number].*function_of;
    constexpr bool communicates = kFamilies[number].communicates;
    visit(function, communicates);
  };
  [&]<std::size_t... number>(std::index_sequence<number...>) {
    (one.template operator()<number>(), ...);
  }
  (std::make_index_sequence<sizeof(kFamilies) / sizeof(OperatorFamily)>());
}

enum class Families { that_compute, that_communicate };
template <auto kernels_of>
std::vector<KernelEntry> entries_of(Families families) {
  std::vector<KernelEntry> all;
  for_each_family<kernels_of>([&](auto kernels, bool communicates) {
    if (communicates == (families == Families::that_communicate))
      for (KernelEntry& entry : kernels()) all.push_back(std::move(entry));
  });
  return all;
}

}  // namespace lockstep
