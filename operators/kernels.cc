#include "operators/all.h"
#include "operators/cpu.h"
#include "operators/cuda.h"

namespace lockstep {

const std::vector<KernelTable>& all_kernels() {
  static const std::vector<KernelTable> tables = [] {
    std::vector<KernelTable> all{cpu_kernels()};
    for (KernelTable& table : cuda_kernels()) all.push_back(std::move(table));
    return all;
  }();
  return tables;
}

}  // namespace lockstep
