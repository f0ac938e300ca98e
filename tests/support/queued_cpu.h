// SPDX-License-Identifier: Apache-2.0
// GPUs for tests on machines without any: any number of them, each with queues (threads), memory
// that the host cannot access, and the CPU's kernels. They test everything about devices except the
// devices' own kernels: waits, copies, recordings.
#pragma once

#include <memory>
#include <vector>

#include "runtime/kernel/table.h"

namespace lockstep::testing {

// Whether the host can access a device's memory.
enum class Reach { near, far };
std::unique_ptr<Accelerator> threads_as_devices(Reach reach);

// What this thread puts into queues in between is recorded, not run.
void begin_recording();
std::unique_ptr<Recording> end_recording();
// By all threads, since the program began.
int recordings_made();
// The recording under way, if any, holds it until it is destroyed.
void hold_while_recorded(std::shared_ptr<void> object);

// A table of GPU kernels; lives as long as the program.
const std::vector<KernelTable>& queued_kernels();

std::vector<Device> gpu_devices(int count);

}  // namespace lockstep::testing
