// SPDX-License-Identifier: Apache-2.0
// The windows of pooling over planes: two spatial dimensions without dilation.
#pragma once

#include <algorithm>
#include <string>

#include "operators/pool/max_loops.h"
#include "operators/pool/pool.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

struct PooledAxis : AxisOfWindows {
  int64_t begin(int64_t window) const { return std::max<int64_t>(0, window * stride - pad); }
  int64_t end(int64_t window) const { return std::min(in, window * stride - pad + kernel); }
  // The windows without padding are [first_whole(), end_of_whole()).
  int64_t first_whole() const { return std::min(out, (pad + stride - 1) / stride); }
  int64_t end_of_whole() const {
    if (in + pad < kernel) return first_whole();
    return std::clamp((in + pad - kernel) / stride + 1, first_whole(), out);
  }
};

struct PooledPlanes {
  int64_t count;
  PooledAxis rows, columns;
  int threads;

  PooledPlanes(const KernelRequest& request, const Dims& x, const Dims& y)
      : count(x[0] * x[1]), threads(request.threads) {
    const Window all = pool_attrs_of(request).window;
    const Window window = resolved(all, all.kernel, to_shape({x.begin() + 2, x.end()}));
    const auto axis = [&](std::size_t i) {
      return PooledAxis{x[i + 2], y[i + 2], window.kernel[i], window.strides[i], window.pads[i]};
    };
    rows = axis(0);
    columns = axis(1);
  }

  // Calls run(begin, end) for ranges of planes.
  template <class Run>
  void visit(const Run& run) const {
    const int64_t grain = 8192 / std::max<int64_t>(1, rows.in * columns.in);
    parallel_for(count, std::max<int64_t>(1, grain), threads, run);
  }
  bool square(int64_t kernel) const { return rows.kernel == kernel && columns.kernel == kernel; }
};

// The reason why the request does not pool over planes without dilation; "" if it does.
inline std::string not_plain_windows(const KernelRequest& request) {
  const std::size_t spatial = request.in[0].dims.size() - 2;
  if (spatial != 2) return join("takes 2 spatial dimensions, not ", spatial);
  for (const int64_t dilation : pool_attrs_of(request).window.dilations)
    if (dilation != 1) return "takes windows without dilation";
  return "";
}

}  // namespace lockstep
