// Timing work on the current device, to choose between algorithms.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>

namespace lockstep {

// Zeroed memory of the current device.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// The median time, in seconds, of several runs after a first one.
double seconds_on_device(const std::function<void(cudaStream_t)>& work);

std::string name_of_current_device();

}  // namespace lockstep
