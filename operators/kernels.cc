// SPDX-License-Identifier: Apache-2.0
#include "lockstep/operators.h"
#include "operators/cpu.h"
#include "operators/cuda.h"

namespace lockstep {

namespace {

std::vector<KernelTable> tables(const GpuProperties* planned) {
  std::vector<KernelTable> all{cpu_kernels()};
  for (KernelTable& table : cuda_kernels(planned)) all.push_back(std::move(table));
  return all;
}

}  // namespace

const std::vector<KernelTable>& all_kernels() {
  static const std::vector<KernelTable> all = tables(nullptr);
  return all;
}

std::vector<KernelTable> kernels_planned_for(const GpuProperties& gpu) { return tables(&gpu); }

}  // namespace lockstep
