// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>

#include "app/machine.h"
#include "app/simulate/measured_links.h"
#include "graph/file.h"
#include "lockstep/device.h"
#include "lockstep/operators.h"
#include "operators/cuda.h"
#include "operators/kit/dnnl.h"
#include "operators/kit/simd/isa.h"
#include "runtime/accelerator.h"
#include "runtime/threads/cores.h"
#include "tools/bench/roofline.h"
#include "tools/command.h"
#include "tools/config_command.h"

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

struct DoctorOptions {
  bool properties = false, links = false;
  std::string devices, out;
};

// Every process measures its devices while all others do the same, and rank 0 writes the file.
int measure_links(const DoctorOptions& options) {
  return over_processes([&](Comm* comm) {
    const std::string usual = comm ? "cpu" : join("cpu*", cpu_cores());
    const std::vector<Device> devices =
        parse_devices(options.devices.empty() ? usual : options.devices);
    const std::vector<KernelTable>& kernels = all_kernels();
    const MachineRates rates = measure_rates(devices[0], DType::float32,
                                             rate_sizes(devices[0].kind), kernels, {.threads = 1});
    const Cluster cluster =
        measured_cluster(comm, devices, {rates.operations, rates.bytes}, kernels);
    if (comm && comm->rank() != 0) return 0;
    const std::string text = "# by lockstep doctor --measure-links\n" + yaml_of(cluster);
    if (options.out.empty())
      std::cout << text;
    else
      write_file(options.out, text);
    return 0;
  });
}

}  // namespace

void add_doctor(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "doctor", "print this machine's hardware and libraries, and what is missing");
  auto options = std::make_shared<DoctorOptions>();
  CLI::Option* properties = command->add_flag(
      "--device-properties", options->properties,
      "print the first GPU's properties as JSON, for `lockstep plan --gpu FILE` on "
      "machines without a GPU");
  CLI::Option* links = command->add_flag(
      "--measure-links", options->links,
      "measure devices and the links between them, and print a cluster file for "
      "`lockstep simulate`; with `lockstep launch` or another launcher between all processes");
  links->excludes(properties);
  command
      ->add_option("--devices", options->devices,
                   "with --measure-links: devices of each process; default: cpu*N with N cores, or "
                   "cpu for several processes")
      ->needs(links);
  command->add_option("-o,--output", options->out, "with --measure-links: the file")->needs(links);
  command->footer(
      "Example:  lockstep doctor\n"
      "          lockstep doctor --measure-links -o cluster.yaml\n"
      "          lockstep launch -n 2 -- lockstep doctor --measure-links -o cluster.yaml");
  command->callback([options, &chosen] {
    chosen = diagnose;
    if (options->properties)
      chosen = [] {
        std::cout << gpu_properties_here() << "\n";
        return 0;
      };
    if (options->links) chosen = [options] { return measure_links(*options); };
  });
}

}  // namespace lockstep
