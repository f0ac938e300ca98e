#include "runtime/cuda/dnn_api.h"

#include <map>
#include <mutex>

#include "runtime/cuda/check.h"

namespace lockstep {

const DnnApi& dnn_api() {
  static const DnnApi loaded;
  return loaded;
}

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) fail("cuDNN: ", what, ": ", dnn_api().text_of(status));
}

cudnnHandle_t handle_of_current_device() {
  static std::mutex mutex;
  static std::map<int, cudnnHandle_t> handles;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  std::lock_guard lock(mutex);
  cudnnHandle_t& handle = handles[device];
  if (!handle) check_dnn(dnn_api().create_handle(&handle), "a handle");
  return handle;
}

}  // namespace lockstep
