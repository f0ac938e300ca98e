// Convolutions by cuDNN's graph API: of float32, float16 or bfloat16, added up as float32.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "graph/shape.h"

namespace lockstep {

enum class ConvolutionKind { forward, by_data, by_weight };

// x [N, C, spatial..], w [M, C / group, kernel..], y [N, M, spatial..], all row-major or all with
// their second dimension innermost; one entry for each spatial dimension.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::forward;
  DType type = DType::float32;
  bool channels_last = false;
  Dims x, w, y;
  Dims strides, dilations, pads_before, pads_after;
};

// One of the three tensors is computed from the two others.
class DnnConvolution {
 public:
  // On a machine with a GPU the engine is chosen now, on the current device: the best that cuDNN's
  // heuristics know among those that add up in full float32 and give the same bits every time.
  // Throws Unsupported where there is none. Without a GPU nothing is chosen, and nothing can run.
  DnnConvolution(const Convolution& convolution, bool has_device);
  ~DnnConvolution();

  std::size_t workspace_bytes() const;
  std::string describe() const;
  void run(cudaStream_t stream, void* x, void* w, void* y, void* workspace);

 private:
  struct Chosen;
  std::unique_ptr<Chosen> chosen_;
};

// Throws what cuDNN has against it; needs the library, and no GPU.
void describe_to_dnn(const Convolution& convolution);

bool dnn_is_there();

}  // namespace lockstep
