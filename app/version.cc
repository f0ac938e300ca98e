// SPDX-License-Identifier: Apache-2.0
#include "app/version.h"

#include "lockstep/operators.h"
#include "operators/cuda.h"
#include "operators/kit/dnnl.h"

namespace lockstep {

std::string version_text() {
  bool gpu = false;
  for (const KernelTable& table : all_kernels()) gpu = gpu || table.kind() == DeviceKind::gpu;
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return join("lockstep ", LOCKSTEP_VERSION, "\noneDNN     ", dnnl_version(), "\nGPU build  ",
              gpu ? "yes" : "no: CPU kernels only", "\ncompiler   ", compiler);
}

}  // namespace lockstep
