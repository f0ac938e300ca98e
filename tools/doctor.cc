// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fstream>
#include <iomanip>
#include <iostream>

#include "app/machine.h"
#include "lockstep/device.h"
#include "lockstep/operators.h"
#include "operators/cuda.h"
#include "operators/kit/dnnl.h"
#include "operators/kit/simd/isa.h"
#include "runtime/accelerator.h"
#include "runtime/threads/cores.h"
#include "tools/command.h"

namespace lockstep {
namespace {

const char* vectors_here() {
  switch (isa_here()) {
    case Isa::avx512:
      return "AVX-512";
    case Isa::avx2:
      return "AVX2";
    case Isa::portable:
      return "SSE only: expect a tenth of the speed";
  }
  return "";
}

// Reports what is present, what is missing, and how to install it.
int diagnose() {
  std::cout << "processor  " << processor() << ", " << cpu_cores() << " cores, " << memory() << "\n"
            << "vectors    " << vectors_here() << "\n"
            << "oneDNN     " << dnnl_version() << " (CPU kernels)\n"
            << "operators  " << all_ops().ops().size() << "\n";
  bool gpu = false;
  int gpus = 0;
  for (const KernelTable& table : all_kernels())
    if (table.kind() == DeviceKind::gpu) {
      gpu = true;
      gpus = table.accelerator()->devices();
    }
  std::ifstream driver("/proc/driver/nvidia/version");
  std::string version;
  std::getline(driver, version);
  std::cout
      << "GPU driver " << (driver ? version : "none: training runs on CPU replicas") << "\n"
      << "GPU build  "
      << (gpu ? "yes: kernels for compute capability 8.0 and later"
              : "no: CPU kernels only (graphs for GPUs can be built and read); `make build` adds "
                "GPU kernels if CUDA's nvcc is installed")
      << "\n"
      << "GPUs       " << gpus << (gpu && gpus == 0 ? ": " + why_no_gpu_here() : "") << "\n";
  for (const GpuLibrary& library : gpu_libraries())
    std::cout << std::left << std::setw(11) << library.name
              << (library.found
                      ? join("found (", library.purpose, ")")
                      : join(gpus > 0 ? "MISSING" : "not found", ": ", library.purpose,
                             " on GPUs need ", library.file, "; add its folder to LD_LIBRARY_PATH"))
              << "\n";
  std::cout << "processes  Gloo over TCP between CPU processes, NCCL between GPUs\n"
            << "default    --devices 'cpu*N', " << threads_per_replica(1)
            << " threads shared by N replicas\n";
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "doctor", "print this machine's hardware and libraries, and what is missing");
  auto properties = std::make_shared<bool>(false);
  command->add_flag("--device-properties", *properties,
                    "print the first GPU's properties as JSON, for `lockstep plan --gpu FILE` on "
                    "machines without a GPU");
  command->footer("Example:  lockstep doctor");
  command->callback([properties, &chosen] {
    chosen = diagnose;
    if (*properties)
      chosen = [] {
        std::cout << gpu_properties_here() << "\n";
        return 0;
      };
  });
}

}  // namespace lockstep
