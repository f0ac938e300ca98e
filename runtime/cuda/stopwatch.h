// SPDX-License-Identifier: Apache-2.0
// Timing work on the current device, to choose between algorithms.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace lockstep {

// Memory of the current device.
class DeviceBuffer {
 public:
  // Repeats the bytes of `pattern`; zeros without a pattern.
  explicit DeviceBuffer(std::size_t bytes, std::span<const std::byte> pattern = {});
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Returns the seconds of a run: the median of several measurements after a first run. A measurement
// makes enough runs in a row that events and launches matter little.
double seconds_on_device(const std::function<void(cudaStream_t)>& work);

// Returns the seconds of work that needs `workspace` bytes. Returns nothing if the memory is not
// available or the work fails; clears CUDA's error, which the next launch would report.
std::optional<double> seconds_if_it_runs(
    std::size_t workspace, const std::function<void(cudaStream_t, void* workspace)>& work);

std::string name_of_current_device();

}  // namespace lockstep
