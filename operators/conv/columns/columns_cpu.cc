// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/columns/columns.h"

#include <algorithm>
#include <cstring>

#include "operators/conv/epilogue.h"
#include "operators/conv/shapes.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/isa.h"
#include "operators/layout/layout.h"
#include "runtime/threads/parallel.h"

namespace lockstep {

const columns::ColumnLoops* columns::loops_here() { return loops_of_isa(avx2_loops, avx512_loops); }

namespace {

using namespace columns;

int64_t whole(int64_t floats, int64_t lanes) { return (floats + lanes - 1) / lanes * lanes; }

// Whether blocks of so many have few channels of padding, which oneDNN computes for nothing.
bool nearly_fill(int64_t lanes, int64_t inputs, int64_t outputs) {
  return 7 * whole(inputs, lanes) * whole(outputs, lanes) <= 8 * inputs * outputs;
}

std::string refusal(const KernelRequest& request, const ConvShapes& shapes) {
  const Dims &x = shapes.x.dims, &y = shapes.y.dims;
  const ColumnLoops* loops = loops_here();
  if (!loops) return "wants a processor with AVX2";
  if (x.size() != 4) return "takes images";
  const ConvAttrs attrs = shapes.attrs(request);
  if (attrs.group != 1) return "takes one group";
  if (x[1] % loops->lanes() == 0 || y[1] % loops->lanes() == 0)
    return join("leaves multiples of ", loops->lanes(), " channels to others");
  if (nearly_fill(loops->lanes(), x[1], y[1]))
    return "leaves channels that nearly fill blocks to others";
  // Values that lie apart are gathered one by one.
  if (attrs.window.strides[1] > 1 && request.node.type() != "ConvGradX")
    return "leaves steps across an image to others";
  constexpr int64_t kMostOfRow = 1 << 20;  // floats: a strip has a row of columns at least
  const Dims& w = shapes.w.dims;
  if (x[1] * w[2] * w[3] * y[3] > kMostOfRow) return "leaves long rows of columns to others";
  return "";
}

Shapes shapes_of(const KernelRequest& request, const ConvShapes& shapes) {
  const Window window = shapes.attrs(request).window;
  const Dims &x = shapes.x.dims, &w = shapes.w.dims, &y = shapes.y.dims;
  for (const TensorDesc* desc : {&shapes.x, &shapes.y})
    supported(desc->layout.is_rows(), "takes row-major tensors, not ", text_of(*desc));
  return {.channels = x[1],
          .height = x[2],
          .width = x[3],
          .outputs = y[1],
          .out_height = y[2],
          .out_width = y[3],
          .window_height = w[2],
          .window_width = w[3],
          .step_down = window.strides[0],
          .step_across = window.strides[1],
          .hole_down = window.dilations[0],
          .hole_across = window.dilations[1],
          .top = window.pads[0],
          .left = window.pads[1]};
}

// What all three kernels share: images in strips, and each thread's columns.
class Work {
 public:
  Work(const ColumnLoops& loops, const Shapes& shapes, int64_t images, int64_t parts, int threads)
      : loops(loops),
        shapes(shapes),
        images(images),
        parts(parts),
        rows_(rows_of(shapes)),
        slots_(std::clamp<int64_t>(threads, 1, std::max<int64_t>(1, parts))) {}

  // Strips of an image.
  static int64_t strips_of(const Shapes& shapes) {
    return (shapes.out_height + rows_of(shapes) - 1) / rows_of(shapes);
  }

  const ColumnLoops& loops;
  Shapes shapes;
  int64_t images;
  int64_t parts;  // of the images or of their strips: each is one thread's

  int64_t input() const { return shapes.channels * shapes.height * shapes.width; }
  int64_t plane() const { return shapes.out_height * shapes.out_width; }
  int64_t output() const { return shapes.outputs * plane(); }
  int64_t padded_outputs() const { return whole(shapes.outputs, loops.lanes()); }

  int64_t most_pixels() const { return whole(rows_ * shapes.out_width, loops.lanes()); }
  int64_t column_floats() const { return shapes.values() * most_pixels(); }
  int64_t slots() const { return slots_; }

  // run(slot, part) for all parts. Those of a slot follow each other, in its columns.
  template <class Run>
  void each_part(const Run& run) const {
    parallel_for_slots(parts, 1, static_cast<int>(slots_),
                       [&](int64_t slot, int64_t begin, int64_t end) {
                         for (int64_t part = begin; part < end; ++part) run(slot, part);
                       });
  }
  // run(strip, pixels, place of the first one in a plane).
  template <class Run>
  void on_strip(int64_t number, const Run& run) const {
    const int64_t first = number * rows_, rows = std::min(rows_, shapes.out_height - first);
    const int64_t pixels = rows * shapes.out_width;
    run(Strip{first, rows, whole(pixels, loops.lanes())}, pixels, first * shapes.out_width);
  }
  std::string describe() const { return join("columns, ", loops.name()); }

 private:
  static constexpr int64_t kStrip = 48 * 1024;  // floats of columns, for half of a small L2 cache

  static int64_t rows_of(const Shapes& shapes) {
    return std::clamp<int64_t>(kStrip / std::max<int64_t>(1, shapes.values() * shapes.out_width), 1,
                               std::max<int64_t>(1, shapes.out_height));
  }

  int64_t rows_;
  int64_t slots_;
};

class ColumnsForward final : public Kernel {
 public:
  ColumnsForward(const ColumnLoops& loops, const Shapes& shapes, int64_t images,
                 const ConvEpilogue& epilogue, int threads)
      : work_(loops, shapes, images, images * Work::strips_of(shapes), threads),
        epilogue_(epilogue) {}

  void run(const KernelArgs& args) override {
    const Shapes& shapes = work_.shapes;
    const Product product{.a = args.in[ConvIn::w].as<float>(),
                          .of_row = shapes.values(),
                          .of_value = 1,
                          .rows = shapes.outputs,
                          .values = shapes.values(),
                          .bias = epilogue_.bias ? args.in[ConvIn::bias].as<float>() : nullptr,
                          .z = nullptr,
                          .relu = epilogue_.relu};
    const auto* const z = epilogue_.addition ? args.in[ConvIn::z].as<float>() : nullptr;
    const int64_t strips = Work::strips_of(shapes);
    work_.each_part([&](int64_t slot, int64_t part) {
      const int64_t image = part / strips;
      const float* x = args.in[ConvIn::x].as<float>() + image * work_.input();
      float* y = args.out[0].as<float>() + image * work_.output();
      auto* columns = reinterpret_cast<float*>(args.workspace) + slot * work_.column_floats();
      work_.on_strip(part % strips, [&](const Strip& strip, int64_t pixels, int64_t at) {
        work_.loops.columns(x, shapes, strip, columns);
        Product here = product;
        if (z) here.z = z + image * work_.output() + at;
        work_.loops.multiply(here, columns, strip.stride, pixels, y + at, work_.plane());
      });
    });
  }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(work_.slots() * work_.column_floats()) * sizeof(float);
  }
  std::string describe() const override { return work_.describe() + text_of(epilogue_); }

 private:
  Work work_;
  ConvEpilogue epilogue_;
};

class ColumnsGradX final : public Kernel {
 public:
  ColumnsGradX(const ColumnLoops& loops, const Shapes& shapes, int64_t images, int threads)
      : work_(loops, shapes, images, images, threads) {}

  void run(const KernelArgs& args) override {
    const Shapes& shapes = work_.shapes;
    const Product product{.a = args.in[ConvGradXIn::w].as<float>(),
                          .of_row = 1,
                          .of_value = shapes.values(),
                          .rows = shapes.values(),
                          .values = shapes.outputs,
                          .bias = nullptr,
                          .z = nullptr,
                          .relu = false};
    work_.each_part([&](int64_t slot, int64_t image) {
      const float* dy = args.in[ConvGradXIn::dy].as<float>() + image * work_.output();
      float* dx = args.out[0].as<float>() + image * work_.input();
      auto* columns = reinterpret_cast<float*>(args.workspace) + slot * slot_floats();
      float* gradients = columns + work_.column_floats();
      std::memset(dx, 0, static_cast<std::size_t>(work_.input()) * sizeof(float));
      const auto add_strip = [&](const Strip& strip, int64_t pixels, int64_t at) {
        // Padded to vectors, which the product reads.
        for (int64_t o = 0; o < shapes.outputs; ++o) {
          float* row = gradients + o * strip.stride;
          std::copy_n(dy + o * work_.plane() + at, pixels, row);
          std::fill_n(row + pixels, strip.stride - pixels, 0.0F);
        }
        work_.loops.multiply(product, gradients, strip.stride, strip.stride, columns, strip.stride);
        work_.loops.add_columns(columns, shapes, strip, dx);
      };
      // From top to bottom: strips add to the same rows.
      for (int64_t i = 0; i < Work::strips_of(shapes); ++i) work_.on_strip(i, add_strip);
    });
  }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(work_.slots() * slot_floats()) * sizeof(float);
  }
  std::string describe() const override { return work_.describe(); }

 private:
  int64_t slot_floats() const {
    return work_.column_floats() + work_.shapes.outputs * work_.most_pixels();
  }

  Work work_;
};

// Parts of the strips have sums of their own, as many for any number of threads.
class ColumnsGradW final : public Kernel {
 public:
  ColumnsGradW(const ColumnLoops& loops, const Shapes& shapes, int64_t images, int threads)
      : work_(loops, shapes, images, parts_of(shapes, images), threads), threads_(threads) {}

  void run(const KernelArgs& args) override {
    const Shapes& shapes = work_.shapes;
    const ColumnLoops& loops = work_.loops;
    auto* dw = args.out[0].as<float>();
    auto* sums = reinterpret_cast<float*>(args.workspace);
    const int64_t strips = Work::strips_of(shapes), all = work_.images * strips;
    if (all == 0) {
      std::fill_n(dw, shapes.outputs * shapes.values(), 0.0F);
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
          loops.columns(x, shapes, strip, columns);
          const StripGradients gradients{dy + at, work_.plane(), shapes.outputs, pixels, turned};
          loops.add_products(columns, strip.stride, gradients, shapes.values(), i == begin,
                             sums + part * part_floats());
        });
      }
    });
    parallel_for(shapes.values(), 64, threads_, [&](int64_t begin, int64_t end) {
      loops.sum(sums, work_.parts, shapes.values(), shapes.outputs, dw, begin, end);
    });
  }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(work_.parts * part_floats() + work_.slots() * slot_floats()) *
           sizeof(float);
  }
  std::string describe() const override { return work_.describe(); }

 private:
  // Sums of many weights cost more than a thread that has nothing to do.
  static int64_t parts_of(const Shapes& shapes, int64_t images) {
    constexpr int64_t kMostParts = 16, kFewWeights = 1 << 16;
    const bool few = shapes.values() * shapes.outputs <= kFewWeights;
    return std::min(few ? images * Work::strips_of(shapes) : images, kMostParts);
  }

  int64_t part_floats() const { return work_.shapes.values() * work_.padded_outputs(); }
  int64_t slot_floats() const {
    return work_.column_floats() + work_.padded_outputs() * work_.most_pixels();
  }

  Work work_;
  int threads_;
};

// A candidate with this processor's loops. Its tensors are row-major.
template <auto kShapes, auto kPrepare>
Candidate candidate() {
  return {"columns",
          every({takes<Float32>(),
                 [](const KernelRequest& request) { return refusal(request, kShapes(request)); }}),
          [](const KernelRequest& request) { return kPrepare(request, *loops_here()); }};
}

}  // namespace

std::unique_ptr<Kernel> prepare_columns_forward(const KernelRequest& request,
                                                const ColumnLoops& loops) {
  const auto shapes = ConvShapes::of_forward(request);
  const ConvEpilogue epilogue = read_epilogue(request);
  supported(!epilogue.statistics, "leaves sums of the result to others");
  check_z_lies_as_result(request);
  return std::make_unique<ColumnsForward>(loops, shapes_of(request, shapes), shapes.x.dims[0],
                                          epilogue, request.threads);
}

std::unique_ptr<Kernel> prepare_columns_grad_x(const KernelRequest& request,
                                               const ColumnLoops& loops) {
  const auto shapes = ConvShapes::of_grad_x(request);
  return std::make_unique<ColumnsGradX>(loops, shapes_of(request, shapes), shapes.x.dims[0],
                                        request.threads);
}

std::unique_ptr<Kernel> prepare_columns_grad_w(const KernelRequest& request,
                                               const ColumnLoops& loops) {
  const auto shapes = ConvShapes::of_grad_w(request);
  return std::make_unique<ColumnsGradW>(loops, shapes_of(request, shapes), shapes.x.dims[0],
                                        request.threads);
}

Candidate columns_forward() { return candidate<ConvShapes::of_forward, prepare_columns_forward>(); }
Candidate columns_grad_x() { return candidate<ConvShapes::of_grad_x, prepare_columns_grad_x>(); }
Candidate columns_grad_w() { return candidate<ConvShapes::of_grad_w, prepare_columns_grad_w>(); }

}  // namespace lockstep
