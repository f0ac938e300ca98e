// GPUs for tests on machines without any: any number of them, each with queues (threads), memory
// that the host cannot access, and the CPU's kernels. They test everything about devices except the
// devices' own kernels: waits, copies, recordings.
#pragma once

#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep::testing {

// Whether the host can access a device's memory.
enum class Reach { near, far };
std::unique_ptr<Accelerator> threads_as_devices(Reach reach);

// A table of GPU kernels; lives as long as the program.
const std::vector<KernelTable>& queued_kernels();

std::vector<Device> gpu_devices(int count);

}  // namespace lockstep::testing
