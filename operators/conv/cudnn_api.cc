// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/cudnn_api.h"

#include <map>
#include <mutex>

#include "runtime/cuda/check.h"

namespace lockstep {

const SharedLibrary& cudnn_library() {
  static const SharedLibrary library(join("cuDNN ", CUDNN_MAJOR, ".", CUDNN_MINOR),
                                     {"libcudnn.so.9"});
  return library;
}

const CudnnApi& cudnn() {
  static const CudnnApi loaded;
  return loaded;
}

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) fail("cuDNN: ", what, ": ", cudnn().text_of(status));
}

cudnnHandle_t handle_of_current_device() {
  static std::mutex mutex;
  static std::map<int, cudnnHandle_t> handles;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  std::lock_guard lock(mutex);
  cudnnHandle_t& handle = handles[device];
  if (!handle) check_cudnn(cudnn().create_handle(&handle), "a handle");
  return handle;
}

}  // namespace lockstep
