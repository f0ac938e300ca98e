// SPDX-License-Identifier: Apache-2.0
// The GPU's kernel table: GPU kernels first, host kernels as fallback.
#include "operators/cuda.h"

#include <memory>

#include "lockstep/operators.h"
#include "operators/conv/cudnn_convolution.h"
#include "operators/cpu.h"
#include "operators/families.h"
#include "operators/fusions.h"
#include "operators/gemm/cublas_product.h"
#include "runtime/cuda/accelerator.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/library.h"
#include "runtime/cuda/nccl.h"
#include "runtime/kernel/host_kernel.h"

namespace lockstep {

std::vector<KernelTable> cuda_kernels(const GpuProperties* planned) {
  std::vector<KernelEntry> own = entries_of<&OperatorFamily::cuda>(Families::that_compute);
  for (KernelEntry& entry :
       conv_cuda(planned ? std::make_shared<const GpuProperties>(*planned) : nullptr))
    own.push_back(std::move(entry));
  std::vector<KernelEntry> all =
      with_host(std::move(own), cpu_kernel_entries(), cuda_accelerator());
  for (KernelEntry& entry :
       without_host(entries_of<&OperatorFamily::cuda>(Families::that_communicate),
                    cpu_communication_entries()))
    all.push_back(std::move(entry));
  std::vector<KernelTable> tables;
  tables.emplace_back(DeviceKind::gpu, all_ops(), std::move(all), &cuda_accelerator(),
                      gpu_fusions());
  return tables;
}

std::string gpu_properties_here() {
  const std::string why = why_no_gpu_here();
  check(why.empty(), "there is no GPU here (", why, ")");
  return json_of_current_gpu();
}

std::string why_no_gpu_here() { return why_no_gpu(); }

std::vector<GpuLibrary> gpu_libraries() {
  static const SharedLibrary compiler("NVRTC", {"libnvrtc.so.13"});
  return {{"cuBLASLt", "libcublasLt.so.13", "matrix products", cublas_is_there()},
          {"cuDNN", "libcudnn.so.9", "convolutions", cudnn_is_there()},
          {"NVRTC", "libnvrtc.so.13", "kernels that cuDNN compiles at run time", compiler.found()},
          {"NCCL", "libnccl.so.2", "sums over several processes", nccl_is_there()}};
}

}  // namespace lockstep
