// SPDX-License-Identifier: Apache-2.0
#include "operators/cpu.h"

#include "lockstep/operators.h"
#include "operators/families.h"
#include "operators/fusions.h"
#include "runtime/kernel/run_in_float32.h"

namespace lockstep {

std::vector<KernelEntry> cpu_kernel_entries() {
  std::vector<KernelEntry> all = entries_of<&OperatorFamily::cpu>(Families::that_compute);
  for (KernelEntry& entry : all) entry = with_float32(std::move(entry));
  return all;
}

std::vector<KernelEntry> cpu_communication_entries() {
  return entries_of<&OperatorFamily::cpu>(Families::that_communicate);
}

namespace {

KernelTable table_with(const OpSet& ops, std::vector<KernelEntry> own) {
  std::vector<KernelEntry> all = cpu_kernel_entries();
  for (KernelEntry& entry : cpu_communication_entries()) all.push_back(std::move(entry));
  for (KernelEntry& entry : own) all.push_back(std::move(entry));
  return {DeviceKind::cpu, ops, std::move(all), nullptr, cpu_fusions()};
}

}  // namespace

KernelTable cpu_kernels() { return table_with(all_ops(), {}); }

std::vector<KernelTable> cpu_kernels_with(const OpSet& ops, std::vector<KernelEntry> own) {
  std::vector<KernelTable> tables;
  tables.push_back(table_with(ops, std::move(own)));
  return tables;
}

}  // namespace lockstep
