// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operators/kit/dispatch.h"
#include "operators/shape/pad.h"
#include "operators/shape/strided.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// Along one dimension: the positions in y that copy each position of x.
struct Copies {
  std::vector<std::size_t> start{0};  // of each position of x in `places`, then the end
  std::vector<int64_t> places;

  Copies(PadMode mode, int64_t size, int64_t before, int64_t after) {
    for (int64_t i = 0; i < size; ++i) {
      for (PadCopies t = pad_copies(mode, i, size, before, after); t.more(); t.next())
        places.push_back(t.at);
      start.push_back(places.size());
    }
  }
};

// Adds the gradients of one row of x, which was copied into several rows of y. The outer dimensions
// select the rows in order, so each element adds its gradients in the order of y.
class GradientRows {
 public:
  GradientRows(const KernelRequest& request) : x_(request.out[0].dims), y_(request.in[0].dims) {
    std::vector<int64_t> pads = request.integers(2);
    if (x_.empty()) {
      x_ = y_ = {1};
      pads = {0, 0};
    }
    strides_ = contiguous_strides(y_);
    const PadMode mode = pad_mode(request);
    if (element_count(x_) == 0 || element_count(y_) == 0) return;
    for (std::size_t d = 0; d < x_.size(); ++d) copies_.emplace_back(mode, x_[d], pads[d], y_[d]);
  }

  int64_t length() const { return x_.back(); }
  int64_t rows() const {
    int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < x_.size(); ++d) rows *= x_[d];
    return rows;
  }

  template <class T>
  void sum(int64_t row, const T* dy, T* dx) const {
    std::fill_n(dx, length(), T(0));
    if (!copies_.empty()) add_rows(row, rows(), 0, dy, dx);
  }

 private:
  // `rows`: the number of rows of x that one position of dimension d - 1 selects.
  template <class T>
  void add_rows(int64_t row, int64_t rows, std::size_t d, const T* dy, T* dx) const {
    const Copies& copies = copies_[d];
    if (d + 1 == x_.size()) {
      for (int64_t i = 0; i < length(); ++i)
        for (std::size_t t = copies.start[i]; t < copies.start[i + 1]; ++t)
          dx[i] += dy[copies.places[t]];
      return;
    }
    rows /= x_[d];
    const int64_t place = row / rows;
    for (std::size_t t = copies.start[place]; t < copies.start[place + 1]; ++t)
      add_rows(row % rows, rows, d + 1, dy + copies.places[t] * strides_[d], dx);
  }

  Dims x_, y_;
  std::vector<int64_t> strides_;
  std::vector<Copies> copies_;  // of each dimension; none if x or y is empty
};

}  // namespace

PadMode pad_mode(const KernelRequest& request) {
  return pad_mode(request.attributes().text("mode", "constant"));
}

std::unique_ptr<Kernel> prepare_pad(const KernelRequest& request) {
  const PadMode mode = pad_mode(request);
  std::vector<int64_t> pads = request.integers(1);
  Dims x = request.in[0].dims, y = request.out[0].dims;
  if (x.empty()) {
    x = y = {1};
    pads = {0, 0};
  }
  const bool has_value = request.in.size() > 2 && request.in[2].present();
  const int64_t elements = request.out[0].count(), length = y.back();
  std::vector<std::vector<int64_t>> sources(x.size());  // the source of each position along each
                                                        // dimension
  // A size is unbounded if another dimension is empty.
  for (std::size_t d = 0; d < x.size() && elements > 0; ++d)
    for (int64_t i = 0; i < y[d]; ++i) sources[d].push_back(pad_source(mode, i - pads[d], x[d]));
  return of_size(request.in[0].dtype, [&]<class T>() {
    return make_kernel(
        [=, strides = contiguous_strides(x), threads = request.threads](const KernelArgs& args) {
          if (elements == 0) return;
          const T value = has_value ? *args.in[2].as<T>() : T(0);
          const int64_t grain = std::max<int64_t>(1, 16384 / length);
          parallel_for(elements / length, grain, threads, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
              int64_t rest = row, start = 0;
              bool inside = true;
              for (std::size_t d = y.size() - 1; d-- > 0;) {
                const int64_t at = sources[d][rest % y[d]];
                rest /= y[d];
                inside = inside && at >= 0;
                start += at * strides[d];
              }
              T* const to = args.out[0].as<T>() + row * length;
              if (!inside) {
                std::fill_n(to, length, value);
                continue;
              }
              const T* const from = args.in[0].as<T>() + start;
              const int64_t* const places = sources.back().data();
              for (int64_t i = 0; i < length; ++i) to[i] = places[i] < 0 ? value : from[places[i]];
            }
          });
        });
  });
}

std::unique_ptr<Kernel> prepare_pad_grad(const KernelRequest& request) {
  return dispatch<Floats>(request.in[0].dtype, [&]<class T>() {
    return make_kernel([rows = GradientRows(request),
                        threads = request.threads](const KernelArgs& args) {
      const int64_t length = rows.length();
      const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length));
      parallel_for(length == 0 ? 0 : rows.rows(), grain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          rows.sum(row, args.in[0].as<T>(), args.out[0].as<T>() + row * length);
      });
    });
  });
}

}  // namespace lockstep
