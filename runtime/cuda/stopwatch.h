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
  // Repeats the bytes of `pattern`; without any, zeroes.
  explicit DeviceBuffer(std::size_t bytes, std::span<const std::byte> pattern = {});
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// The time of a run, in seconds: the median of several measurements after a first run, each of so
// many runs in a row that marks and launches matter little.
double seconds_on_device(const std::function<void(cudaStream_t)>& work);

// The time of work that needs so much memory. Empty if there is not so much or if the work fails;
// CUDA then keeps no error of it, which the next launch would report as its own.
std::optional<double> seconds_if_it_runs(
    std::size_t workspace, const std::function<void(cudaStream_t, void* workspace)>& work);

std::string name_of_current_device();

}  // namespace lockstep
