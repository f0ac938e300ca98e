// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "operators/conv/pointwise_grad_w/loops.h"
#include "operators/conv/pointwise_grad_w/pointwise_grad_w.h"
#include "operators/conv/pointwise_grad_w/tuning.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/dnnl.h"
#include "operators/layout/layout.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

using namespace pointwise;

std::string refusal(const KernelRequest& request) {
  const ConvProblem problem(request);
  if (!problem.is_of_images()) return "takes 1x1 windows";
  const Conv2d conv = problem.conv2d();
  if (conv.taps() != 1) return "takes 1x1 windows";
  if (problem.group != 1) return "takes one group";
  for (int64_t pad : problem.window.pads)
    if (pad != 0) return "takes no padding";
  if (conv.inputs % kChannels != 0 || conv.outputs % kChannels != 0)
    return join("takes multiples of ", kChannels, " channels");
  return "";
}

int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

Pixels pixels_of(const TensorDesc& tensor) {
  supported(tensor.layout == Layout::blocks(kChannels), "takes channel blocks of ", kChannels,
            ", not ", text_of(tensor));
  const int64_t plane = tensor.dims[2] * tensor.dims[3];
  return {.data = nullptr,
          .blocks = tensor.dims[1] / kChannels,
          .plane = plane * kChannels,
          .rows = 1,
          .columns = plane,
          .down = 0,
          .across = kChannels};
}

// The pixels of x in the windows.
Pixels seen_pixels(const ConvProblem& problem) {
  Pixels pixels = pixels_of(problem.x);
  const Conv2d conv = problem.conv2d();
  if (conv.down.step == 1 && conv.across.step == 1) return pixels;
  pixels.rows = conv.down.result;
  pixels.columns = conv.across.result;
  pixels.down = conv.down.step * conv.across.image * kChannels;
  pixels.across = conv.across.step * kChannels;
  return pixels;
}

// Pixels are divided into chunks; several chunks form a part, which has separate sums. The channels
// of the narrower tensor in a chunk fit into an L2 cache. The wider tensor is divided into panels
// of two blocks, which fit into an L1 cache. The products of a part with a panel are an item of
// work.
class PointwiseGradW final : public Kernel {
 public:
  PointwiseGradW(const Pixels& x, const Pixels& dy, int64_t pixels, int threads)
      : x_(x),
        dy_(dy),
        pixels_(pixels),
        pairs_(divided_up(pixels, 2 * divided_up(pixels, kTuning.pixels))),
        chunks_(divided_up(pixels, 2 * pairs_)),
        parts_(parts_of(chunks_, sums())),
        threads_(threads),
        slots_(std::clamp<int64_t>(threads, 1, parts_ * panels())) {}

  void run(const KernelArgs& args) override {
    Pixels x = x_, dy = dy_;
    x.data = args.in[ConvGradWIn::x].as<BFloat16>();
    dy.data = args.in[ConvGradWIn::dy].as<BFloat16>();
    auto* all = reinterpret_cast<float*>(args.workspace);
    auto* panels = reinterpret_cast<BFloat16*>(all + parts_ * sums());
    parallel_for(slots_, 1, static_cast<int>(slots_), [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot) add_items(slot, x, dy, all, panels);
    });
    auto* dw = args.out[0].as<BFloat16>();
    parallel_for(sums() / kChannels, 1024, threads_, [&](int64_t begin, int64_t end) {
      round_sums(all, parts_, sums(), dw, begin * kChannels, end * kChannels);
    });
  }
  std::size_t workspace_bytes() const override {
    return parts_ * sums() * sizeof(float) + slots_ * slot_elements() * sizeof(BFloat16);
  }
  std::string describe() const override { return "pointwise, AVX512-BF16"; }

 private:
  static constexpr int64_t kPanel = kTuning.panel;

  static int64_t parts_of(int64_t chunks, int64_t sums) {
    int64_t parts = 1;
    while (parts < kTuning.most_parts && chunks >= 2 * parts * kTuning.chunks_of_part &&
           2 * parts * sums <= kTuning.most_sums)
      parts *= 2;
    return parts;
  }

  int64_t inputs() const { return x_.blocks * kChannels; }
  int64_t sums() const { return inputs() * dy_.blocks * kChannels; }
  static int64_t elements(int64_t pairs) { return pairs * 2 * kChannels; }
  int64_t slot_elements() const { return (narrow().blocks + kPanel) * elements(pairs_); }
  bool wide_x() const { return x_.blocks >= dy_.blocks; }
  const Pixels& wide() const { return wide_x() ? x_ : dy_; }
  const Pixels& narrow() const { return wide_x() ? dy_ : x_; }
  int64_t panels() const { return divided_up(wide().blocks, kPanel); }

  struct Range {
    int64_t begin, end;
  };

  void add_items(int64_t slot, const Pixels& x, const Pixels& dy, float* all,
                 BFloat16* panels_of_slots) const {
    BFloat16* const memory = panels_of_slots + slot * slot_elements();
    const int64_t items = parts_ * panels();
    const int64_t begin = items * slot / slots_, end = items * (slot + 1) / slots_;
    for (int64_t part = begin / panels(); part * panels() < end; ++part) {
      const Range range{std::max<int64_t>(begin - part * panels(), 0),
                        std::min(end - part * panels(), panels())};
      const int64_t first = chunks_ * part / parts_, last = chunks_ * (part + 1) / parts_;
      for (int64_t chunk = first; chunk < last; ++chunk)
        add_chunk(range, wide_x() ? x : dy, wide_x() ? dy : x, chunk, chunk == first,
                  chunk + 1 == last, all + part * sums(), memory);
    }
  }

  // Adds the products of one chunk with some panels of the wider tensor.
  void add_chunk(const Range& range, const Pixels& wide, const Pixels& narrow, int64_t chunk,
                 bool first, bool last, float* dw, BFloat16* memory) const {
    const int64_t pixel = chunk * 2 * pairs_;
    const int64_t pixels = std::min(2 * pairs_, pixels_ - pixel);
    const int64_t pairs = divided_up(pixels, 2), block = elements(pairs);
    BFloat16* const panel = memory + narrow.blocks * block;
    for (int64_t b = 0; b < narrow.blocks; ++b)
      interleave(narrow, b, pixel, pixels, memory + b * block);
    for (int64_t p = range.begin; p < range.end; ++p) {
      const int64_t at = p * kPanel, blocks = std::min(kPanel, wide.blocks - at);
      for (int64_t b = 0; b < blocks; ++b)
        interleave(wide, at + b, pixel, pixels, panel + b * block);
      PanelProducts products{.x = panel,
                             .dy = memory,
                             .inputs = blocks,
                             .outputs = narrow.blocks,
                             .pairs = pairs,
                             .first = first,
                             .dw = dw + at * kChannels,
                             .row = inputs(),
                             .ahead = ahead_of(range, p, wide, pixel, last)};
      if (!wide_x()) {
        std::swap(products.x, products.dy);
        std::swap(products.inputs, products.outputs);
        products.dw = dw + at * kChannels * inputs();
      }
      add_products(products);
    }
  }

  // The memory of the next panel, in this chunk or the next chunk.
  Ahead ahead_of(const Range& range, int64_t panel, const Pixels& wide, int64_t pixel,
                 bool last) const {
    const bool same = panel + 1 < range.end;
    if ((!same && last) || wide.across != kChannels) return {nullptr, 0, 0};
    const int64_t next = (same ? panel + 1 : range.begin) * kPanel;
    return {wide.at(next, same ? pixel : pixel + 2 * pairs_), wide.plane,
            std::min(kPanel, wide.blocks - next)};
  }

  Pixels x_, dy_;  // without data
  int64_t pixels_, pairs_, chunks_, parts_;
  int threads_;
  int64_t slots_;
};

Layouts wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[ConvGradWIn::x] = layouts.in[ConvGradWIn::dy] = Layout::blocks(kChannels);
  return layouts;
}

}  // namespace

std::unique_ptr<Kernel> prepare_pointwise_grad_w(const KernelRequest& request) {
  const ConvProblem problem(request);
  const Dims& y = problem.y.dims;
  return std::make_unique<PointwiseGradW>(seen_pixels(problem), pixels_of(problem.y),
                                          y[0] * y[2] * y[3], problem.threads);
}

std::vector<ConvImplementation> pointwise_convolutions() {
  return {{.passes = {ConvPass::grad_w},
           .types = takes<Types<BFloat16>>(),
           .candidate = {"pointwise", every({dnnl_floats, not_empty, refusal}),
                         prepare_pointwise_grad_w, wish}}};
}

}  // namespace lockstep
