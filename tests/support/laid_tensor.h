// SPDX-License-Identifier: Apache-2.0
// Tensors in any layout, and a CPU node that reads and writes tensors in any layout.
#pragma once

#include <cmath>
#include <vector>

#include "lockstep/operators.h"
#include "lockstep/types.h"
#include "tests/support/laid_out.h"

namespace lockstep::testing {

// A tensor that is filled and read in row-major order.
class LaidTensor {
 public:
  explicit LaidTensor(TensorDesc desc, float first = NAN, float step = 0)
      : desc_(std::move(desc)), bytes_(desc_.present() ? desc_.bytes() : 0) {
    if (!desc_.present()) return;
    each_place(desc_, [&](int64_t i, int64_t place) {
      const float value = first + step * static_cast<float>(i % 977);
      if (desc_.dtype == DType::float32)
        as<float>()[place] = value;
      else if (desc_.dtype == DType::bfloat16)
        as<BFloat16>()[place] = BFloat16(value);
      else
        as<Half>()[place] = Half(value);
    });
  }
  const TensorDesc& desc() const { return desc_; }
  Tensor tensor() { return {desc_, bytes_.data()}; }
  std::vector<float> values() const {
    std::vector<float> plain(static_cast<std::size_t>(desc_.count()));
    each_place(desc_, [&](int64_t i, int64_t place) {
      plain[static_cast<std::size_t>(i)] = desc_.dtype == DType::float32 ? as<float>()[place]
                                           : desc_.dtype == DType::bfloat16
                                               ? static_cast<float>(as<BFloat16>()[place])
                                               : static_cast<float>(as<Half>()[place]);
    });
    return plain;
  }

 private:
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes_.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes_.data());
  }

  TensorDesc desc_;
  std::vector<std::byte> bytes_;
};

inline void run_on_cpu(const Node& node, std::vector<LaidTensor>& in, std::vector<LaidTensor>& out,
                       int threads) {
  KernelRequest request{.node = node, .threads = threads};
  std::vector<Tensor> operands, results;
  for (LaidTensor& operand : in) {
    request.in.push_back(operand.desc());
    operands.push_back(operand.tensor());
  }
  for (LaidTensor& result : out) {
    request.out.push_back(result.desc());
    results.push_back(result.tensor());
  }
  const auto chosen = table_for(all_kernels(), {DeviceKind::cpu, 0}).choose(request);
  std::vector<std::byte> workspace(chosen.kernel->workspace_bytes());
  chosen.kernel->run({operands, results, workspace.data(), RunContext{}});
}

}  // namespace lockstep::testing
