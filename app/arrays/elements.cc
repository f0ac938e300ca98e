// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/elements.h"

#include "lockstep/error.h"

namespace lockstep {

double element(const Tensor& tensor, int64_t place) {
  switch (tensor.desc.dtype) {
    case DType::float32:
      return tensor.as<const float>()[place];
    case DType::float64:
      return tensor.as<const double>()[place];
    case DType::float16:
      return tensor.as<const Half>()[place];
    case DType::bfloat16:
      return tensor.as<const BFloat16>()[place];
    case DType::int64:
      return static_cast<double>(tensor.as<const int64_t>()[place]);
    case DType::int32:
      return tensor.as<const int32_t>()[place];
    case DType::int16:
      return tensor.as<const int16_t>()[place];
    case DType::int8:
      return tensor.as<const int8_t>()[place];
    case DType::uint64:
      return static_cast<double>(tensor.as<const uint64_t>()[place]);
    case DType::uint32:
      return tensor.as<const uint32_t>()[place];
    case DType::uint16:
      return tensor.as<const uint16_t>()[place];
    case DType::uint8:
      return tensor.as<const uint8_t>()[place];
    case DType::boolean:
      return tensor.as<const bool>()[place] ? 1 : 0;
    default:
      fail("elements of ", tensor.desc.dtype, " are no numbers that a metric can read");
  }
}

}  // namespace lockstep
