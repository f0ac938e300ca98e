// CUDA's runtime as far as kernels call it, and the devices behind it: threads of the host.
#include "runtime/cuda/accelerator.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "tests/support/queued_cpu.h"

namespace lockstep {

Accelerator& cuda_accelerator() {
  static const std::unique_ptr<Accelerator> accelerator =
      testing::threads_as_devices(testing::Reach::near);
  return *accelerator;
}

void require_reach(Device, Device) {}
int64_t cuda_allocations() { return 0; }

namespace {
Queue& queue_of(cudaStream_t stream) { return *reinterpret_cast<Queue*>(stream); }
}  // namespace

}  // namespace lockstep

extern "C" {

cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t count, cudaStream_t stream) {
  lockstep::queue_of(stream).call([=] { std::memset(data, value, count); });
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  lockstep::queue_of(stream).call([=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                  static_cast<const std::byte*>(from) + row * from_pitch, width);
  });
  return cudaSuccess;
}

}  // extern "C"
