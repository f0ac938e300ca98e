// SPDX-License-Identifier: Apache-2.0
// cuDNN's functions and descriptors of its graph API. For operators/conv/cudnn_*.cc.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <utility>

#include "lockstep/error.h"
#include "lockstep/types.h"
#include "runtime/cuda/library.h"

namespace lockstep {

const SharedLibrary& cudnn_library();

struct CudnnApi {
  const SharedLibrary& library = cudnn_library();
  decltype(cudnnGetVersion)* version = library["cudnnGetVersion"];
  decltype(cudnnCreate)* create_handle = library["cudnnCreate"];
  decltype(cudnnSetStream)* set_stream = library["cudnnSetStream"];
  decltype(cudnnGetErrorString)* text_of = library["cudnnGetErrorString"];
  decltype(cudnnGetLastErrorString)* last_error = library["cudnnGetLastErrorString"];
  decltype(cudnnBackendCreateDescriptor)* create = library["cudnnBackendCreateDescriptor"];
  decltype(cudnnBackendDestroyDescriptor)* destroy = library["cudnnBackendDestroyDescriptor"];
  decltype(cudnnBackendSetAttribute)* set = library["cudnnBackendSetAttribute"];
  decltype(cudnnBackendGetAttribute)* get = library["cudnnBackendGetAttribute"];
  decltype(cudnnBackendFinalize)* finalize = library["cudnnBackendFinalize"];
  decltype(cudnnBackendExecute)* execute = library["cudnnBackendExecute"];
};
const CudnnApi& cudnn();

void check_cudnn(cudnnStatus_t status, const char* what);

// The handle of the current device; one per device, kept until the program ends.
cudnnHandle_t handle_of_current_device();

// A descriptor of the graph API: create it, set attributes, finalize it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check_cudnn(cudnn().create(type, &descriptor_), "a descriptor");
  }
  ~Descriptor() {
    if (descriptor_) cudnn().destroy(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values) {
    check_cudnn(cudnn().set(descriptor_, name, type, count, values), "an attribute");
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Dims& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, float value) {
    return set(name, CUDNN_TYPE_FLOAT, 1, &value);
  }
  Descriptor& finish() {
    check_cudnn(cudnn().finalize(descriptor_), "a descriptor");
    return *this;
  }
  bool finishes() { return cudnn().finalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

  int64_t count_of(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    int64_t count = 0;
    check_cudnn(cudnn().get(descriptor_, name, type, 0, &count, nullptr), "an attribute");
    return count;
  }
  // Reads at most `most` values; returns their number.
  int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
               void* values) const {
    int64_t count = 0;
    check_cudnn(cudnn().get(descriptor_, name, type, most, &count, values), "an attribute");
    return std::min(count, most);
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace lockstep
