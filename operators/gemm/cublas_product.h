// SPDX-License-Identifier: Apache-2.0
// Products of row-major matrices by cuBLASLt: of float32, float16 or bfloat16, accumulated in
// float32.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "lockstep/types.h"

namespace lockstep {

// y = alpha op(a) op(b) + beta y, for each of `batch` matrices; y is m x n, k is the inner
// dimension.
struct MatrixProduct {
  DType type = DType::float32;
  bool tf32 = false;  // KernelRequest::tf32
  bool trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_y = 0;  // elements between matrices of a batch
  int64_t row_a = 0, row_b = 0, row_y = 0;           // elements between rows in memory; 0: no gaps
  uint32_t alignment = 256;  // all matrices' addresses are multiples of this number of bytes

  int64_t between_rows_of_a() const { return row_a ? row_a : trans_a ? m : k; }
  int64_t between_rows_of_b() const { return row_b ? row_b : trans_b ? k : n; }
  int64_t between_rows_of_y() const { return row_y ? row_y : n; }
};

class CublasProduct {
 public:
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20U;

  // Chooses the algorithm for the current device; throws Unsupported if there is no algorithm.
  // Without a device, nothing can run.
  CublasProduct(const MatrixProduct& product, bool has_device);
  ~CublasProduct();

  // Runs on the stream's device, which must be the current device.
  void run(cudaStream_t stream, const void* a, const void* b, void* y, void* workspace);

 private:
  struct Chosen;
  MatrixProduct product_;
  std::unique_ptr<Chosen> chosen_;
};

bool cublas_is_there();

}  // namespace lockstep
