// GPUs for tests on machines without any: as many as are asked for, each with queues that are
// threads, memory that the host cannot touch, and the CPU's kernels. What is checked with them is
// everything about a run on devices but the devices' own kernels: what waits for what, what is
// copied when, what a recording holds.
#pragma once

#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep::testing {

// Whether the host can touch a device's memory.
enum class Reach { near, far };
std::unique_ptr<Accelerator> threads_as_devices(Reach reach);

// A table of GPU kernels; it lives as long as the program.
const std::vector<KernelTable>& queued_kernels();

std::vector<Device> gpu_devices(int count);

}  // namespace lockstep::testing
