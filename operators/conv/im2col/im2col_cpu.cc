// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "operators/conv/conv.h"
#include "operators/conv/im2col/im2col.h"
#include "operators/conv/im2col/tuning.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/isa.h"
#include "operators/layout/layout.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

const im2col::Im2colLoops* im2col::loops_here() { return loops_of_isa(avx2_loops, avx512_loops); }

namespace {

using namespace im2col;

int64_t whole(int64_t floats, int64_t lanes) { return (floats + lanes - 1) / lanes * lanes; }

// True if blocks of `lanes` channels have little padding, so that oneDNN computes few channels in
// vain.
bool nearly_fill(int64_t lanes, int64_t inputs, int64_t outputs) {
  return 7 * whole(inputs, lanes) * whole(outputs, lanes) <= 8 * inputs * outputs;
}

std::string refusal(const KernelRequest& request) {
  const ConvProblem problem(request);
  const Im2colLoops* loops = loops_here();
  if (!loops) return "wants a processor with AVX2";
  if (!problem.is_of_images()) return "takes images";
  if (problem.group != 1) return "takes one group";
  const Conv2d conv = problem.conv2d();
  if (conv.inputs % loops->lanes() == 0 || conv.outputs % loops->lanes() == 0)
    return join("leaves multiples of ", loops->lanes(), " channels to others");
  if (nearly_fill(loops->lanes(), conv.inputs, conv.outputs))
    return "leaves channels that nearly fill blocks to others";
  // Values that are not adjacent are gathered one by one.
  const bool scatters = problem.pass == ConvPass::grad_x && !problem.epilogue.addition;
  if (conv.across.step > 1 && !scatters) return "leaves steps across an image to others";
  if (conv.values() * conv.across.result > kTuning.longest_row)
    return "leaves long rows of columns to others";
  return "";
}

Conv2d in_rows(const ConvProblem& problem) {
  for (const TensorDesc* desc : {&problem.x, &problem.y})
    supported(desc->layout.is_rows(), "takes row-major tensors, not ", text_of(*desc));
  return problem.conv2d();
}

// State shared by all three kernels: images in strips, and each thread's columns.
class Work {
 public:
  Work(const Im2colLoops& loops, const Conv2d& conv, int64_t parts, int threads)
      : loops(loops),
        conv(conv),
        parts(parts),
        rows_(rows_of(conv)),
        slots_(std::clamp<int64_t>(threads, 1, std::max<int64_t>(1, parts))) {}

  // The number of strips of an image.
  static int64_t strips_of(const Conv2d& conv) {
    return (conv.down.result + rows_of(conv) - 1) / rows_of(conv);
  }

  const Im2colLoops& loops;
  Conv2d conv;
  int64_t parts;  // of the images or of their strips; one thread processes a part

  int64_t input() const { return conv.inputs * conv.down.image * conv.across.image; }
  int64_t plane() const { return conv.down.result * conv.across.result; }
  int64_t output() const { return conv.outputs * plane(); }
  int64_t padded_outputs() const { return whole(conv.outputs, loops.lanes()); }

  int64_t most_pixels() const { return whole(rows_ * conv.across.result, loops.lanes()); }
  int64_t column_floats() const { return conv.values() * most_pixels(); }
  int64_t slots() const { return slots_; }

  // Calls run(slot, part) for all parts. The parts of a slot run one after the other and reuse its
  // columns.
  template <class Run>
  void each_part(const Run& run) const {
    parallel_for_slots(parts, 1, static_cast<int>(slots_),
                       [&](int64_t slot, int64_t begin, int64_t end) {
                         for (int64_t part = begin; part < end; ++part) run(slot, part);
                       });
  }
  // Calls run(strip, pixels, offset of the first pixel in a plane).
  template <class Run>
  void on_strip(int64_t number, const Run& run) const {
    const int64_t first = number * rows_, rows = std::min(rows_, conv.down.result - first);
    const int64_t pixels = rows * conv.across.result;
    run(Strip{first, rows, whole(pixels, loops.lanes())}, pixels, first * conv.across.result);
  }
  std::string describe() const { return join("im2col, ", loops.name()); }

 private:
  static int64_t rows_of(const Conv2d& conv) {
    return std::clamp<int64_t>(
        kTuning.strip / std::max<int64_t>(1, conv.values() * conv.across.result), 1,
        std::max<int64_t>(1, conv.down.result));
  }

  int64_t rows_;
  int64_t slots_;
};

class Im2colForward final : public Kernel {
 public:
  Im2colForward(const Im2colLoops& loops, const Conv2d& conv, const ConvEpilogue& epilogue,
                int threads)
      : work_(loops, conv, conv.images * Work::strips_of(conv), threads), epilogue_(epilogue) {}

  void run(const KernelArgs& args) override {
    const Conv2d& conv = work_.conv;
    const Product product{.a = args.in[ConvIn::w].as<float>(),
                          .of_row = conv.values(),
                          .of_value = 1,
                          .rows = conv.outputs,
                          .values = conv.values(),
                          .bias = epilogue_.bias ? args.in[ConvIn::bias].as<float>() : nullptr,
                          .z = nullptr,
                          .relu = epilogue_.relu};
    const auto* const z = epilogue_.addition ? args.in[ConvIn::z].as<float>() : nullptr;
    const int64_t strips = Work::strips_of(conv);
    work_.each_part([&](int64_t slot, int64_t part) {
      const int64_t image = part / strips;
      const float* x = args.in[ConvIn::x].as<float>() + image * work_.input();
      float* y = args.out[0].as<float>() + image * work_.output();
      auto* columns = reinterpret_cast<float*>(args.workspace) + slot * work_.column_floats();
      work_.on_strip(part % strips, [&](const Strip& strip, int64_t pixels, int64_t at) {
        work_.loops.columns(x, conv, strip, columns);
        Product here = product;
        if (z) here.z = z + image * work_.output() + at;
        work_.loops.multiply(here, columns, strip.stride, pixels, y + at, work_.plane());
      });
    });
  }
  std::size_t workspace_bytes() const override {
    return work_.slots() * work_.column_floats() * sizeof(float);
  }
  std::string describe() const override { return work_.describe() + text_of(epilogue_); }

 private:
  Work work_;
  ConvEpilogue epilogue_;
};

class Im2colGradX final : public Kernel {
 public:
  Im2colGradX(const Im2colLoops& loops, const Conv2d& conv, int threads)
      : work_(loops, conv, conv.images, threads) {}

  void run(const KernelArgs& args) override {
    const Conv2d& conv = work_.conv;
    const Product product{.a = args.in[ConvGradXIn::w].as<float>(),
                          .of_row = 1,
                          .of_value = conv.values(),
                          .rows = conv.values(),
                          .values = conv.outputs,
                          .bias = nullptr,
                          .z = nullptr,
                          .relu = false};
    work_.each_part([&](int64_t slot, int64_t image) {
      const float* dy = args.in[ConvGradXIn::dy].as<float>() + image * work_.output();
      float* dx = args.out[0].as<float>() + image * work_.input();
      auto* columns = reinterpret_cast<float*>(args.workspace) + slot * slot_floats();
      float* gradients = columns + work_.column_floats();
      std::memset(dx, 0, work_.input() * sizeof(float));
      const auto add_strip = [&](const Strip& strip, int64_t pixels, int64_t at) {
        // Padded to whole vectors, which the product reads.
        for (int64_t o = 0; o < conv.outputs; ++o) {
          float* row = gradients + o * strip.stride;
          std::copy_n(dy + o * work_.plane() + at, pixels, row);
          std::fill_n(row + pixels, strip.stride - pixels, 0.0F);
        }
        work_.loops.multiply(product, gradients, strip.stride, strip.stride, columns, strip.stride);
        work_.loops.add_columns(columns, conv, strip, dx);
      };
      // From top to bottom: neighbouring strips add to the same rows.
      for (int64_t i = 0; i < Work::strips_of(conv); ++i) work_.on_strip(i, add_strip);
    });
  }
  std::size_t workspace_bytes() const override {
    return work_.slots() * slot_floats() * sizeof(float);
  }
  std::string describe() const override { return work_.describe(); }

 private:
  int64_t slot_floats() const {
    return work_.column_floats() + work_.conv.outputs * work_.most_pixels();
  }

  Work work_;
};

// Each part of the strips has separate sums. The number of parts does not depend on the number of
// threads.
class Im2colGradW final : public Kernel {
 public:
  Im2colGradW(const Im2colLoops& loops, const Conv2d& conv, int threads)
      : work_(loops, conv, parts_of(conv), threads), threads_(threads) {}

  void run(const KernelArgs& args) override {
    const Conv2d& conv = work_.conv;
    const Im2colLoops& loops = work_.loops;
    auto* dw = args.out[0].as<float>();
    auto* sums = reinterpret_cast<float*>(args.workspace);
    const int64_t strips = Work::strips_of(conv), all = conv.images * strips;
    if (all == 0) {
      std::fill_n(dw, conv.outputs * conv.values(), 0.0F);
      return;
    }
    work_.each_part([&](int64_t slot, int64_t part) {
      float* columns = sums + work_.parts * part_floats() + slot * slot_floats();
      float* turned = columns + work_.column_floats();
      const int64_t begin = all * part / work_.parts, end = all * (part + 1) / work_.parts;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / strips;
        const float* x = args.in[ConvGradWIn::x].as<float>() + image * work_.input();
        const float* dy = args.in[ConvGradWIn::dy].as<float>() + image * work_.output();
        work_.on_strip(i % strips, [&](const Strip& strip, int64_t pixels, int64_t at) {
          loops.columns(x, conv, strip, columns);
          const StripGradients gradients{dy + at, work_.plane(), conv.outputs, pixels, turned};
          loops.add_products(columns, strip.stride, gradients, conv.values(), i == begin,
                             sums + part * part_floats());
        });
      }
    });
    parallel_for(conv.values(), 64, threads_, [&](int64_t begin, int64_t end) {
      loops.sum(sums, work_.parts, conv.values(), conv.outputs, dw, begin, end);
    });
  }
  std::size_t workspace_bytes() const override {
    return (work_.parts * part_floats() + work_.slots() * slot_floats()) * sizeof(float);
  }
  std::string describe() const override { return work_.describe(); }

 private:
  static int64_t parts_of(const Conv2d& conv) {
    const bool few = conv.values() * conv.outputs <= kTuning.few_weights;
    return std::min(few ? conv.images * Work::strips_of(conv) : conv.images, kTuning.most_parts);
  }

  int64_t part_floats() const { return work_.conv.values() * work_.padded_outputs(); }
  int64_t slot_floats() const {
    return work_.column_floats() + work_.padded_outputs() * work_.most_pixels();
  }

  Work work_;
  int threads_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_im2col(const KernelRequest& request, const Im2colLoops& loops) {
  const ConvProblem problem(request);
  switch (problem.pass) {
    case ConvPass::forward:
      supported(!problem.epilogue.statistics, "leaves sums of the result to others");
      check_z_lies_as_result(request);
      return std::make_unique<Im2colForward>(loops, in_rows(problem), problem.epilogue,
                                             problem.threads);
    case ConvPass::grad_x:
      return std::make_unique<Im2colGradX>(loops, in_rows(problem), problem.threads);
    case ConvPass::grad_w:
      return std::make_unique<Im2colGradW>(loops, in_rows(problem), problem.threads);
  }
  return nullptr;
}

// All tensors are row-major.
std::vector<ConvImplementation> im2col_convolutions() {
  const auto prepare = [](const KernelRequest& request) {
    return prepare_im2col(request, *loops_here());
  };
  return {{.passes = {ConvPass::forward, ConvPass::grad_x, ConvPass::grad_w},
           .types = takes<Float32>(),
           .candidate = {"im2col", refusal, prepare}}};
}

}  // namespace lockstep
