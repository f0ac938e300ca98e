// SPDX-License-Identifier: Apache-2.0
// Convolutions with different padding before and after the images. For exact float32, cuDNN 9.19
// chooses an engine that computes wrong gradients of filters in this case (on an H200: 3x3 filters
// with strides of 2, padded at the end). So the images are padded in memory, and the convolution
// has no padding. This applies to all precisions, since engines for the others could not be tested
// at every size.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "operators/conv/cudnn_convolution.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {

// Dimensions of images and of the padded images around them, in memory order, slowest first.
struct ImagesWithin {
  static constexpr int kMostDims = 5;
  int dims = 0;
  int64_t size[kMostDims] = {}, before[kMostDims] = {}, larger[kMostDims] = {};

  explicit ImagesWithin(const Convolution& c) {
    const auto add = [&](int64_t count, int64_t front, int64_t behind) {
      size[dims] = count;
      before[dims] = front;
      larger[dims++] = front + count + behind;
    };
    add(c.channels_last ? c.x[0] : c.x[0] * c.x[1], 0, 0);
    for (std::size_t i = 2; i < c.x.size(); ++i)
      add(c.x[i], c.pads_before[i - 2], c.pads_after[i - 2]);
    if (c.channels_last) add(c.x[1], 0, 0);
  }
  int64_t larger_count() const {
    int64_t count = 1;
    for (int d = 0; d < dims; ++d) count *= larger[d];
    return count;
  }
  // The offset in the images of an offset in the padded images; -1: in the padding.
  __device__ int64_t place(int64_t of_larger) const {
    int64_t place = 0, stride = 1;
    for (int d = dims - 1; d >= 0; --d) {
      const int64_t at = of_larger % larger[d] - before[d];
      of_larger /= larger[d];
      if (at < 0 || at >= size[d]) return -1;
      place += at * stride;
      stride *= size[d];
    }
    return place;
  }
};

template <class T>
struct PadImages {
  ImagesWithin images;
  const T* x;
  T* padded;
  __device__ void operator()(int64_t i) const {
    const int64_t place = images.place(i);
    padded[i] = place < 0 ? stored<T>(0.0F) : x[place];
  }
};

template <class T>
struct CropImages {
  ImagesWithin images;
  bool adds;
  const T* padded;
  T* x;
  __device__ void operator()(int64_t i) const {
    const int64_t place = images.place(i);
    if (place < 0) return;
    x[place] = adds ? stored<T>(computed(x[place]) + computed(padded[i])) : padded[i];
  }
};

class PaddingConvolution {
 public:
  // `choose` makes the convolution that cuDNN computes.
  template <class Choose>
  PaddingConvolution(const Convolution& c, const Choose& choose)
      : convolution_(c), images_(c), own_(choose(asked())) {}

  std::size_t workspace_bytes() const {
    const std::size_t own = own_->workspace_bytes();
    return pads() ? aligned(own) + images_.larger_count() * size_of(convolution_.type) : own;
  }
  std::string describe() const {
    return own_->describe() + (pads() ? ", images padded in memory" : "");
  }
  void run(cudaStream_t stream, ConvolutionData data, void* workspace) const {
    if (!pads()) return own_->run(stream, data, workspace);
    const bool makes_images = convolution_.pass == ConvPass::grad_x;
    void* const x = std::exchange(
        data.x, static_cast<std::byte*>(workspace) + aligned(own_->workspace_bytes()));
    if (!makes_images) pad(stream, x, data.x);
    own_->run(stream, data, workspace);
    if (makes_images) crop(stream, data.x, x);
  }

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  bool pads() const { return convolution_.pads_before != convolution_.pads_after; }
  Convolution asked() const {
    if (!pads()) return convolution_;
    Convolution whole = convolution_;
    for (std::size_t i = 0; i < whole.pads_before.size(); ++i)
      whole.x[i + 2] += whole.pads_before[i] + whole.pads_after[i];
    whole.pads_before.assign(whole.pads_before.size(), 0);
    whole.pads_after = whole.pads_before;
    whole.adds = false;
    return whole;
  }
  void pad(cudaStream_t stream, const void* x, void* padded) const {
    with_type<TensorFloats>(convolution_.type, [&]<class Host>() {
      using T = DeviceType<Host>;
      for_elements(stream, images_.larger_count(),
                   PadImages<T>{images_, static_cast<const T*>(x), static_cast<T*>(padded)});
    });
  }
  void crop(cudaStream_t stream, const void* padded, void* x) const {
    with_type<TensorFloats>(convolution_.type, [&]<class Host>() {
      using T = DeviceType<Host>;
      for_elements(stream, images_.larger_count(),
                   CropImages<T>{images_, convolution_.adds, static_cast<const T*>(padded),
                                 static_cast<T*>(x)});
    });
  }

  Convolution convolution_;
  ImagesWithin images_;
  std::shared_ptr<CudnnConvolution> own_;
};

}  // namespace lockstep
