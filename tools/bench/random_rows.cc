// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/random_rows.h"

namespace lockstep {

Literal random_rows(DType dtype, const Dims& dims, int64_t classes, PhiloxSequence& random) {
  Literal literal(dtype, dims);
  if (dtype == DType::int64)
    for (int64_t i = 0; i < literal.count(); ++i)
      reinterpret_cast<int64_t*>(literal.bytes().data())[i] = random.below(classes);
  else if (dtype == DType::uint8)
    for (int64_t i = 0; i < literal.count(); ++i)
      literal.bytes()[i] = static_cast<std::byte>(random.below(256));
  else
    for (int64_t i = 0; i < literal.count(); ++i)
      reinterpret_cast<float*>(literal.bytes().data())[i] =
          static_cast<float>(random.uniform(-1, 1));
  return literal;
}

}  // namespace lockstep
