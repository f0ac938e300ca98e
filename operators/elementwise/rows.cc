// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/rows.h"

#include <algorithm>
#include <array>

#include "operators/kit/broadcast.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

// Operands of broadcast shapes and their result. A single long row is split among threads; many
// rows are distributed over threads.
template <int N>
class Rows {
 public:
  explicit Rows(const KernelRequest& request)
      : walk_(request.out[0].dims, dims_of(request)),
        threads_(request.threads),
        result_size_(static_cast<int64_t>(size_of(request.out[0].dtype))) {
    for (std::size_t k = 0; k < N; ++k)
      size_[k] = static_cast<int64_t>(size_of(request.in[k].dtype));
  }

  // Calls run(operands, result, count) for chunks of rows.
  template <class Run>
  void visit(const KernelArgs& args, const Run& run) const {
    if (walk_.rows == 0 || walk_.row_length == 0) return;
    if (walk_.rows == 1) {
      parallel_for(walk_.row_length, kGrain, threads_,
                   [&](int64_t begin, int64_t end) { piece(args, {}, 0, begin, end, run); });
      return;
    }
    const int64_t grain = std::max<int64_t>(1, kGrain / walk_.row_length);
    parallel_for(walk_.rows, grain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        piece(args, walk_.at(row), row, 0, walk_.row_length, run);
    });
  }

 private:
  static std::array<Dims, N> dims_of(const KernelRequest& request) {
    std::array<Dims, N> dims;
    for (std::size_t k = 0; k < N; ++k) dims[k] = request.in[k].dims;
    return dims;
  }

  // Calls run() for elements [begin, end) of a row, with operands that start at offsets `at`.
  template <class Run>
  void piece(const KernelArgs& args, const std::array<int64_t, N>& at, int64_t row, int64_t begin,
             int64_t end, const Run& run) const {
    std::array<RowOperand, N> operands;
    for (std::size_t k = 0; k < N; ++k)
      operands[k] = {
          args.in[k].template as<const std::byte>() + (at[k] + begin * walk_.step[k]) * size_[k],
          walk_.step[k]};
    std::byte* y =
        args.out[0].template as<std::byte>() + (row * walk_.row_length + begin) * result_size_;
    run(operands, y, end - begin);
  }

  Broadcast<N> walk_;
  int threads_;
  std::array<int64_t, N> size_;
  int64_t result_size_;
};

}  // namespace

std::unique_ptr<Kernel> map_rows(const KernelRequest& request, RowOfOne row) {
  const auto x_size = static_cast<int64_t>(size_of(request.in[0].dtype));
  const auto y_size = static_cast<int64_t>(size_of(request.out[0].dtype));
  return make_kernel(
      [=, count = request.out[0].count(), threads = request.threads](const KernelArgs& args) {
        const auto* x = args.in[0].as<const std::byte>();
        auto* y = args.out[0].as<std::byte>();
        parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
          row(x + begin * x_size, y + begin * y_size, end - begin);
        });
      });
}

std::unique_ptr<Kernel> combine_rows(const KernelRequest& request, RowOfTwo row,
                                     CheckOperand check_second) {
  return make_kernel([=, rows = Rows<2>(request)](const KernelArgs& args) {
    if (check_second) check_second(args.in[1]);
    rows.visit(args, [&](const std::array<RowOperand, 2>& in, void* y, int64_t count) {
      row(in[0], in[1], y, count);
    });
  });
}

std::unique_ptr<Kernel> choose_rows(const KernelRequest& request, RowOfThree row) {
  return make_kernel([=, rows = Rows<3>(request)](const KernelArgs& args) {
    rows.visit(args, [&](const std::array<RowOperand, 3>& in, void* y, int64_t count) {
      row(in[0], in[1], in[2], y, count);
    });
  });
}

}  // namespace lockstep
