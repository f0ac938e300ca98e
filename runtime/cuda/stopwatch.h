// Timing work on the current device, for choices between ways to do it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>

namespace lockstep {

// Memory of the current device, full of zeros.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Seconds that a run of it takes once it has run before: the median of several.
double seconds_on_device(const std::function<void(cudaStream_t)>& work);

std::string name_of_current_device();

}  // namespace lockstep
