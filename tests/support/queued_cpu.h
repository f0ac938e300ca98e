// SPDX-License-Identifier: Apache-2.0
// Emulated GPUs for tests on machines without a GPU. Each of any number of devices has queues
// (threads), memory that the host cannot access, and the CPU's kernels. They test waits, copies and
// recordings, but no GPU kernels.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/kernel.h"
#include "runtime/accelerator.h"

namespace lockstep::testing {

// near: the host can access the device's memory.
enum class Reach { near, far };
std::unique_ptr<Accelerator> threads_as_devices(Reach reach);

// Begins a recording: this thread's work for queues is recorded, not run.
void begin_recording();
std::unique_ptr<Recording> end_recording();
// The number of recordings of all threads since the program began.
int recordings_made();
// The current recording, if any, holds the object until the recording is destroyed.
void hold_while_recorded(std::shared_ptr<void> object);

// A table of GPU kernels. Its lifetime is the program's.
const std::vector<KernelTable>& queued_kernels();

std::vector<Device> gpu_devices(int count);

}  // namespace lockstep::testing
