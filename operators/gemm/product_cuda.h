// SPDX-License-Identifier: Apache-2.0
// Matrix products for GPU kernels of any family.
#pragma once

#include <memory>
#include <string>

#include "lockstep/kernel.h"
#include "operators/gemm/cublas_product.h"
#include "runtime/cuda/accelerator.h"
#include "runtime/cuda/check.h"

namespace lockstep {

// Chooses the algorithm on the device that will run the product, if it exists. Uses tf32 if the
// request allows it.
inline std::shared_ptr<CublasProduct> chosen_product(const KernelRequest& request,
                                                     MatrixProduct product) {
  product.tf32 = request.tf32;
  const bool there = request.device.index < cuda_accelerator().devices();
  if (there) check_cuda(cudaSetDevice(request.device.index), "choosing a device");
  return std::make_shared<CublasProduct>(product, there);
}

// The name of the library and its precision, for plan dumps.
inline std::string description_of_products(const KernelRequest& request) {
  return request.tf32 && request.in[0].dtype == DType::float32 ? "cublasLt, tf32" : "cublasLt";
}

}  // namespace lockstep
