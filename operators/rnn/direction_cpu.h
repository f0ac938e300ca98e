// SPDX-License-Identifier: Apache-2.0
// Parts shared by the forward and backward kernels of the CPU.
#pragma once

#include <algorithm>
#include <vector>

#include "operators/kit/dnnl.h"
#include "operators/rnn/cells_cpu.h"
#include "operators/rnn/recurrence.h"
#include "operators/rnn/sizes.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

struct RecurrentNode {
  std::string name;  // for errors
  RecurrentAttrs attrs;
  RecurrentSizes sizes;
  std::vector<CellMath> math;  // of each direction
  int threads;

  explicit RecurrentNode(const KernelRequest& request)
      : name(request.node.description()),
        attrs(read_recurrent(cell_of(request.node.type()), request.attributes())),
        sizes(cell_of(request.node.type()), attrs, request),
        threads(request.threads) {
    prepare_sgemm();
    const auto all = recurrent_activations(sizes.cell, attrs);
    const auto each = static_cast<std::ptrdiff_t>(activations_of(sizes.cell));
    for (auto first = all.begin(); first != all.end(); first += each)
      math.push_back({sizes.hidden, attrs.input_forget, {first, first + each}});
  }
  RecurrentOrder order(int64_t d) const { return {attrs.reversed(d), sizes.steps}; }
  // GRU: true if r scales the product with R.
  bool scales_product() const { return attrs.linear_before_reset; }
  // The minimum number of examples per thread.
  int64_t grain() const { return std::max<int64_t>(1, 2048 / sizes.hidden); }

  // Calls visit(n) for all examples, in parallel.
  template <class Visit>
  void for_examples(const Visit& visit) const {
    parallel_for(sizes.batch, grain(), threads, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) visit(n);
    });
  }

  // Writes the states of direction d to a result, unless the result is omitted.
  void write_states(int64_t d, const float* states, float* to) const {
    for (int64_t n = 0; to && n < sizes.batch; ++n)
      std::copy_n(states + n * sizes.hidden, sizes.hidden, to + sizes.state_at(d, n));
  }
};

// The number of steps of each example.
class SequenceLengths {
 public:
  // Throws if an example is longer than the number of steps.
  SequenceLengths(const KernelArgs& args, const RecurrentNode& node)
      : given_(operand<int32_t>(args, RecurrentIn::lengths)), steps_(node.sizes.steps) {
    for (int64_t n = 0; given_ && n < node.sizes.batch; ++n)
      if (given_[n] < 0 || given_[n] > steps_)
        fail(node.name, ": ", length_outside(n, given_[n], steps_));
  }
  int64_t operator[](int64_t n) const { return given_ ? given_[n] : steps_; }

 private:
  const int32_t* given_;
  int64_t steps_;
};

// A row-major matrix with rows `stride` apart.
struct MatrixPlace {
  const float* at;
  int64_t stride;
};

// y = a b, or y += a b if `add`; b is transposed if `by_rows`.
inline void multiply_rows(int64_t rows, int64_t columns, int64_t inner, MatrixPlace a,
                          MatrixPlace b, bool by_rows, bool add, float* y, int64_t stride) {
  if (rows > 0 && columns > 0 && inner > 0)
    sgemm(false, by_rows, rows, columns, inner, 1, a.at, a.stride, b.at, b.stride,
          add ? 1.0F : 0.0F, y, stride);
  else if (!add)
    for (int64_t row = 0; row < rows; ++row) std::fill_n(y + row * stride, columns, 0.0F);
}

}  // namespace lockstep
