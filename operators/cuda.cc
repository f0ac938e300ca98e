// The GPU's table: its own kernels, and the host's for what it has none for.
#include "operators/cuda.h"

#include <map>

#include "operators/activation/activation.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/collective/collective.h"
#include "operators/conv/conv.h"
#include "operators/cpu.h"
#include "operators/dropout/dropout.h"
#include "operators/elementwise/elementwise.h"
#include "operators/fill/fill.h"
#include "operators/function/function.h"
#include "operators/fusions.h"
#include "operators/gather/gather.h"
#include "operators/gemm/gemm.h"
#include "operators/layout/layout.h"
#include "operators/loss/loss.h"
#include "operators/norm/norm.h"
#include "operators/optimizer/optimizer.h"
#include "operators/pool/pool.h"
#include "operators/process/process.h"
#include "operators/reduce/reduce.h"
#include "operators/resize/resize.h"
#include "operators/shape/shape.h"
#include "runtime/cuda/accelerator.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/dnn.h"
#include "runtime/cuda/nccl.h"
#include "runtime/host_kernel.h"

namespace lockstep {
namespace {

using Entries = std::map<std::string, KernelEntry>;

void add(Entries& to, std::vector<KernelEntry> entries) {
  for (KernelEntry& entry : entries) to.emplace(entry.domain + ":" + entry.type, std::move(entry));
}

// A type or shape that the device's kernel does not know goes to the host.
KernelFactory first_of(KernelFactory own, KernelFactory host) {
  return [own = std::move(own), host = std::move(host)](const KernelRequest& request) {
    try {
      return own(request);
    } catch (const Unsupported&) {
      return host(request);
    }
  };
}

KernelRequest laid_out(const KernelRequest& request, const Layouts& layouts) {
  KernelRequest changed = request;
  for (std::size_t i = 0; i < changed.in.size(); ++i) changed.in[i].channel_block = layouts.in[i];
  for (std::size_t i = 0; i < changed.out.size(); ++i)
    changed.out[i].channel_block = layouts.out[i];
  return changed;
}

// The host knows other layouts than the device: what goes there is row-major.
LayoutWish if_its_own(LayoutWish wish, KernelFactory own) {
  if (!wish) return nullptr;
  return [wish = std::move(wish), own = std::move(own)](const KernelRequest& request) {
    const Layouts wished = wish(request);
    try {
      own(laid_out(request, wished));
    } catch (const Unsupported&) {
      return row_major(request);
    }
    return wished;
  };
}

// What the host cannot do in a device's place: sums over replicas would meet in its memory, and a
// message that it waits for in a queue could wait for one behind it.
Entries not_for_the_host() {
  Entries entries;
  add(entries, collective_cpu());
  add(entries, process_cpu());
  return entries;
}

}  // namespace

std::vector<KernelTable> cuda_kernels() {
  Entries own;
  for (auto room :
       {activation_cuda, batch_norm_cuda, collective_cuda, conv_cuda, dropout_cuda,
        elementwise_cuda, fill_cuda, function_cuda, gather_cuda, gemm_cuda, layout_cuda, loss_cuda,
        norm_cuda, optimizer_cuda, pool_cuda, process_cuda, reduce_cuda, resize_cuda, shape_cuda})
    add(own, room());
  const Entries excluded = not_for_the_host();
  std::vector<KernelEntry> all;
  for (const KernelEntry& cpu : cpu_kernel_entries()) {
    const std::string key = cpu.domain + ":" + cpu.type;
    const auto found = own.find(key);
    if (excluded.contains(key)) {
      if (found != own.end()) all.push_back(found->second);
      continue;
    }
    KernelFactory host = on_host(cpu.prepare, cuda_accelerator());
    if (found == own.end())
      all.push_back({cpu.type, cpu.domain, host});
    else
      all.push_back({cpu.type, cpu.domain, first_of(found->second.prepare, host),
                     if_its_own(found->second.wish, found->second.prepare)});
  }
  std::vector<KernelTable> tables;
  tables.emplace_back(DeviceKind::gpu, std::move(all), &cuda_accelerator(), fusions());
  return tables;
}

std::vector<GpuLibrary> gpu_libraries() {
  return {{"cuBLASLt", "libcublasLt.so.13", "matrix products", blas_is_there()},
          {"cuDNN", "libcudnn.so.9", "convolutions", dnn_is_there()},
          {"NCCL", "libnccl.so.2", "sums over several processes", nccl_is_there()}};
}

}  // namespace lockstep
