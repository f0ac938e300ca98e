// SPDX-License-Identifier: Apache-2.0
#include "operators/cpu.h"

#include "operators/all.h"
#include "operators/fusions.h"
#include "operators/rooms.h"
#include "runtime/kernel/wide_kernel.h"

namespace lockstep {

std::vector<KernelEntry> cpu_kernel_entries() {
  std::vector<KernelEntry> all;
  for (auto room :
       {activation_cpu, batch_norm_cpu, boxes_cpu,  conv_cpu,    dropout_cpu,  elementwise_cpu,
        fill_cpu,       function_cpu,   gather_cpu, gemm_cpu,    layout_cpu,   loss_cpu,
        norm_cpu,       optimizer_cpu,  pool_cpu,   reduce_cpu,  resident_cpu, resize_cpu,
        rnn_cpu,        roi_cpu,        shape_cpu,  targets_cpu, weighted_cpu})
    for (KernelEntry& entry : room()) all.push_back(with_float32(std::move(entry)));
  return all;
}

std::vector<KernelEntry> cpu_communication_entries() {
  std::vector<KernelEntry> all;
  for (auto room : {collective_cpu, process_cpu})
    for (KernelEntry& entry : room()) all.push_back(std::move(entry));
  return all;
}

KernelTable cpu_kernels() {
  std::vector<KernelEntry> all = cpu_kernel_entries();
  for (KernelEntry& entry : cpu_communication_entries()) all.push_back(std::move(entry));
  return {DeviceKind::cpu, all_ops(), std::move(all), nullptr, cpu_fusions()};
}

}  // namespace lockstep
