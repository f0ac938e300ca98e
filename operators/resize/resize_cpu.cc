// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operators/kit/dispatch.h"
#include "operators/resize/passes.h"
#include "operators/resize/resize.h"

namespace lockstep {
namespace {

using Table = std::vector<ResizeTaps>;  // by output position

void apply(const ResizePass& pass, const Table& taps, const float* from, float* to) {
  for (int64_t o = 0; o < pass.outer; ++o)
    for (int64_t i = 0; i < pass.to; ++i) {
      const ResizeTaps& of = taps[i];
      for (int64_t k = 0; k < pass.inner; ++k) {
        float total = 0;
        for (int tap = 0; tap < of.count; ++tap)
          total += of.weight[tap] * from[(o * pass.from + of.place[tap]) * pass.inner + k];
        to[(o * pass.to + i) * pass.inner + k] = total;
      }
    }
}

// The transpose of apply().
void apply_back(const ResizePass& pass, const Table& taps, const float* from, float* to) {
  std::fill_n(to, pass.count(), 0.0F);
  for (int64_t o = 0; o < pass.outer; ++o)
    for (int64_t i = 0; i < pass.from; ++i) {
      const ResizeTaps& of = taps[i];
      for (int tap = 0; tap < of.count; ++tap)
        for (int64_t k = 0; k < pass.inner; ++k)
          to[(o * pass.to + of.place[tap]) * pass.inner + k] +=
              of.weight[tap] * from[(o * pass.from + i) * pass.inner + k];
    }
}

class ResizeKernel final : public Kernel {
 public:
  explicit ResizeKernel(ResizePasses passes)
      : passes_(std::move(passes)), blanks_(passes_.any_outside()) {
    for (const ResizePass& pass : passes_.passes) {
      Table& table = tables_.emplace_back();
      for (int64_t i = 0; i < pass.line.after; ++i) table.push_back(pass.line.taps(i));
    }
  }

  std::size_t workspace_bytes() const override { return passes_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    const float* from = args.in[0].as<float>();
    float* const y = args.out[0].as<float>();
    auto* buffers = reinterpret_cast<float*>(args.workspace);
    if (tables_.empty()) std::copy_n(from, passes_.count, y);
    for (std::size_t n = 0; n < tables_.size(); ++n) {
      const auto step = passes_.direction == ResizeDirection::forward ? apply : apply_back;
      float* to = n + 1 == tables_.size() ? y : buffers + (n % 2) * passes_.largest;
      step(passes_.passes[n], tables_[n], from, to);
      from = to;
    }
    if (blanks_) blank_outside(y, args.out[0].count());
  }

 private:
  // Positions outside the region of interest get the extrapolation value.
  void blank_outside(float* y, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      bool outside = false;
      for (std::size_t d = passes_.lines.size(); d-- > 0;) {
        outside = outside || passes_.lines[d].outside(rest % passes_.lines[d].after);
        rest /= passes_.lines[d].after;
      }
      if (outside) y[i] = passes_.extrapolation;
    }
  }

  ResizePasses passes_;
  std::vector<Table> tables_;  // one for each pass
  bool blanks_;
};

std::unique_ptr<Kernel> prepare_resize(const KernelRequest& request) {
  return std::make_unique<ResizeKernel>(resize_passes(request));
}

std::unique_ptr<Kernel> prepare_resize_grad(const KernelRequest& request) {
  return std::make_unique<ResizeKernel>(resize_grad_passes(request));
}

}  // namespace

std::vector<KernelEntry> resize_cpu() {
  return {{"Resize", "", {{"CPU", takes<Float32>(), prepare_resize}}},
          {"ResizeGrad", kOwnDomain, {{"CPU", takes<Float32>(), prepare_resize_grad}}}};
}

}  // namespace lockstep
