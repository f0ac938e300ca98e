// SPDX-License-Identifier: Apache-2.0
// Sums over all rows on the GPU, for the gradients of biases and peepholes: in float64, always in
// the same order.
#pragma once

#include "operators/rnn/back_cells_cuda.h"

namespace lockstep {

constexpr int kSumColumns = 32, kSumLines = kFoldThreads / kSumColumns;

// to[column] is the sum of terms(row, column). A block sums 32 columns; its four lines of threads
// share the rows.
template <class Terms>
struct RowSums {
  Terms terms;
  int64_t rows, columns;
  float* to;
  __device__ void operator()(int64_t block) const {
    __shared__ double parts[kFoldThreads];
    const int64_t column = block * kSumColumns + threadIdx.x % kSumColumns;
    double mine = 0;
    if (column < columns)
      for (int64_t row = threadIdx.x / kSumColumns; row < rows; row += kSumLines)
        mine += terms(row, column);
    parts[threadIdx.x] = mine;
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < kSumColumns && column < columns) {
      for (int line = 1; line < kSumLines; ++line) mine += parts[threadIdx.x + line * kSumColumns];
      to[column] = static_cast<float>(mine);
    }
    __syncthreads();  // before the next block's columns are written
  }
};

template <class Terms>
void sum_rows(const KernelArgs& args, int64_t rows, int64_t columns, const Terms& terms,
              float* to) {
  for_blocks(args, (columns + kSumColumns - 1) / kSumColumns,
             RowSums<Terms>{terms, rows, columns, to});
}

// Both biases are in all sums. If there is dproduct, the last part of the second bias is not: r
// scales it.
struct BiasTerms {
  int64_t hidden, sums;
  const float *dsums, *dproduct;
  __device__ double operator()(int64_t row, int64_t column) const {
    const int64_t of_product = column - (2 * sums - hidden);
    if (dproduct && of_product >= 0) return dproduct[row * hidden + of_product];
    return dsums[row * sums + column % sums];
  }
};

// i and f see the cell before a step, o sees the cell after it.
struct PeepholeTerms {
  StatesBefore states;
  const float* dsums;
  __device__ double operator()(int64_t row, int64_t column) const {
    const RecurrentSizes& sizes = states.all.sizes;
    const int64_t gate = column / sizes.hidden, k = column % sizes.hidden;
    const RowPlace at(sizes, row);
    if (at.t >= states.all.length(at.n)) return 0;
    const float cell = gate == 1 ? states.cells[row * sizes.hidden + k] : states.c(at.t, at.n, k);
    return static_cast<double>(dsums[row * sizes.sums() + column]) * cell;
  }
};

}  // namespace lockstep
