// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/winograd/winograd.h"

#include "operators/conv/conv.h"
#include "operators/conv/winograd/tuning.h"
#include "operators/conv/winograd/work.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/isa.h"
#include "operators/layout/layout.h"

namespace lockstep {

const winograd::Loops* winograd::loops_here() { return loops_of_isa(avx2_loops, avx512_loops); }

namespace {

using namespace winograd;

std::string refusal(const KernelRequest& request) {
  const ConvProblem problem(request);
  const Loops* loops = loops_here();
  if (!loops) return "wants a processor with AVX2";
  if (!problem.is_of_images()) return "takes 3x3 windows";
  const Conv2d conv = problem.conv2d();
  if (conv.down.window != 3 || conv.across.window != 3) return "takes 3x3 windows";
  if (problem.group != 1) return "takes one group";
  if (conv.down.step != 1 || conv.across.step != 1) return "takes windows at every place";
  if (conv.down.hole != 1 || conv.across.hole != 1) return "takes windows without holes";
  const int64_t channels = 2 * loops->lanes();
  if (conv.inputs % channels != 0 || conv.outputs % channels != 0)
    return join("takes multiples of ", channels, " channels");
  const WinogradCost cost{conv.images, conv.inputs, conv.outputs, conv.down.result,
                          conv.across.result};
  if (cost.winograd() > kTuning.most_of_direct * cost.direct())
    return "gains nothing from so few channels or pixels";
  return "";
}

// The tensor's channel blocks if the loops can read them; else blocks of `lanes` channels.
Layout layout_for(const TensorDesc& tensor, const Loops& loops) {
  const bool reads = tensor.layout.block() % loops.lanes() == 0;
  return reads ? tensor.layout : Layout::blocks(loops.lanes());
}

Images images_of(const TensorDesc& tensor, const Loops& loops) {
  supported(tensor.layout.block() % loops.lanes() == 0, "takes channel blocks of ", loops.lanes(),
            ", not ", text_of(tensor));
  return {tensor.dims[1], tensor.dims[2], tensor.dims[3], tensor.layout.block()};
}

// A transform from x to y or, with rotated filters and exchanged padding, from dy to dx.
struct Direction {
  Images from, to;
  int64_t images;
  int64_t top, left;  // padding
  FilterPlaces filters;
  ConvEpilogue epilogue;
};

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const Loops& loops, const Direction& direction, int threads)
      : does_(direction),
        work_(loops, Sums::over_inputs, direction.images, direction.to, direction.from.channels,
              direction.to.channels, direction.to.block, threads) {}

  void run(const KernelArgs& args) override {
    if (!work_.in_slices) make_filters(args);
    work_.each_turn([&](const Tiles& tiles) {
      make_input_tiles(args, tiles);
      if (work_.in_slices)
        work_.share_slices(
            [&](int64_t output, int slot) { make_slice(args, tiles, output, slot); });
      else
        make_outputs(args, tiles);
    });
  }
  std::size_t workspace_bytes() const override { return work_.bytes(); }
  std::string describe() const override { return work_.describe() + text_of(does_.epilogue); }

 private:
  void make_filters(const KernelArgs& args) const {
    work_.share_filters([&](int64_t begin, int64_t end) {
      work_.loops.filters(args.in[1].as<float>(), does_.filters, work_.filter_stride,
                          work_.filters(args.workspace), begin, end);
    });
  }
  void make_input_tiles(const KernelArgs& args, const Tiles& tiles) const {
    const int64_t groups = work_.inputs / work_.loops.lanes();
    work_.share(groups * tiles.count, [&](int64_t begin, int64_t end) {
      work_.loops.tile_inputs(args.in[0].as<float>(), does_.from, does_.top, does_.left, tiles,
                              work_.input_stride, work_.input_tiles(args.workspace), begin, end);
    });
  }

  void make_outputs(const KernelArgs& args, const Tiles& tiles) const {
    float* const to = work_.output_tiles(args.workspace);
    work_.share(kPoints * work_.panels(), [&](int64_t begin, int64_t end) {
      work_.loops.multiply(work_.input_tiles(args.workspace), work_.filters(args.workspace),
                           work_.products(work_.inputs, tiles), true, to, begin, end);
    });
    work_.share(outputs_items(tiles),
                [&](int64_t begin, int64_t end) { finish(args, to, tiles, 0, begin, end); });
  }

  void make_slice(const KernelArgs& args, const Tiles& tiles, int64_t output, int slot) const {
    const Loops& loops = work_.loops;
    float* const filters = work_.filters(args.workspace, slot);
    float* const to = work_.output_tiles(args.workspace, slot);
    const float* const w = args.in[1].as<float>() + output * does_.filters.of_output;
    work_.each_inputs(does_.filters, [&](int64_t input, const FilterPlaces& places) {
      loops.filters(w + input * places.of_input, places, work_.filter_stride, filters, 0,
                    work_.filter_items(places.inputs));
      loops.multiply(work_.input_tiles(args.workspace) + input * tiles.count, filters,
                     work_.products(places.inputs, tiles), input == 0, to, 0,
                     kPoints * work_.panels());
    });
    finish(args, to, tiles, output, 0, outputs_items(tiles));
  }

  // Transforms the tiles of the channels from `output` on to outputs.
  void finish(const KernelArgs& args, const float* from, const Tiles& tiles, int64_t output,
              int64_t begin, int64_t end) const {
    const ConvEpilogue& after = does_.epilogue;
    const int64_t plane = output * does_.to.height * does_.to.width;
    const Postlude postlude{after.bias ? args.in[ConvIn::bias].as<float>() + output : nullptr,
                            after.addition ? args.in[ConvIn::z].as<float>() + plane : nullptr,
                            after.relu};
    work_.loops.outputs(from, work_.output_stride, tiles, postlude, does_.to,
                        args.out[0].as<float>() + plane, begin, end);
  }
  int64_t outputs_items(const Tiles& tiles) const {
    return work_.outputs_of_slice / work_.loops.lanes() * tiles.count;
  }

  Direction does_;
  Work work_;
};

class WinogradGradW final : public Kernel {
 public:
  WinogradGradW(const Loops& loops, int64_t images, const Images& x, const Images& y, int64_t top,
                int64_t left, int threads)
      : x_(x),
        y_(y),
        top_(top),
        left_(left),
        places_{x.channels, 9, 9 * x.channels, false, past_caches(x.channels, y.channels)},
        work_(loops, Sums::over_tiles, images, y, x.channels, y.channels, y.block, threads) {}

  void run(const KernelArgs& args) override {
    work_.each_turn([&](const Tiles& tiles) {
      make_tiles(args, tiles);
      if (work_.in_slices)
        work_.share_slices(
            [&](int64_t output, int slot) { make_slice(args, tiles, output, slot); });
      else
        add_products(args, tiles);
    });
    if (!work_.in_slices) finish_all(args);
  }
  std::size_t workspace_bytes() const override { return work_.bytes(); }
  std::string describe() const override { return work_.describe(); }

 private:
  void make_tiles(const KernelArgs& args, const Tiles& tiles) const {
    const Loops& loops = work_.loops;
    work_.share(work_.inputs / loops.lanes() * tiles.count, [&](int64_t begin, int64_t end) {
      loops.tile_inputs(args.in[ConvGradWIn::x].as<float>(), x_, top_, left_, tiles,
                        work_.input_stride, work_.input_tiles(args.workspace), begin, end);
    });
    work_.share(work_.outputs / loops.lanes() * tiles.count, [&](int64_t begin, int64_t end) {
      loops.tile_gradients(args.in[ConvGradWIn::dy].as<float>(), y_, tiles, work_.output_stride,
                           work_.output_tiles(args.workspace), begin, end);
    });
  }

  void add_products(const KernelArgs& args, const Tiles& tiles) const {
    work_.share(kPoints * work_.panels() * (work_.inputs / work_.loops.lanes()),
                [&](int64_t begin, int64_t end) {
                  work_.loops.add_products(work_.input_tiles(args.workspace),
                                           work_.output_tiles(args.workspace),
                                           work_.products(work_.inputs, tiles), tiles.first == 0,
                                           work_.filters(args.workspace), begin, end);
                });
  }
  void finish_all(const KernelArgs& args) const {
    work_.share_filters([&](int64_t begin, int64_t end) {
      work_.loops.filter_gradients(work_.filters(args.workspace), work_.filter_stride, places_,
                                   args.out[0].as<float>(), begin, end);
    });
  }

  void make_slice(const KernelArgs& args, const Tiles& tiles, int64_t output, int slot) const {
    const Loops& loops = work_.loops;
    float* const filters = work_.filters(args.workspace, slot);
    float* const dw = args.out[0].as<float>() + output * places_.of_output;
    work_.each_inputs(places_, [&](int64_t input, const FilterPlaces& places) {
      loops.add_products(work_.input_tiles(args.workspace) + input * tiles.count,
                         work_.output_tiles(args.workspace) + output * tiles.count,
                         work_.products(places.inputs, tiles), true, filters, 0,
                         kPoints * work_.panels() * (places.inputs / loops.lanes()));
      loops.filter_gradients(filters, work_.filter_stride, places, dw + input * places.of_input, 0,
                             work_.filter_items(places.inputs));
    });
  }

  // True if gradients are written past the caches. The gradients of other layers fill a core's
  // cache before these gradients are read.
  static bool past_caches(int64_t inputs, int64_t outputs) {
    return 9 * inputs * outputs * static_cast<int64_t>(sizeof(float)) > kTuning.gradients_to_keep;
  }

  Images x_, y_;
  int64_t top_, left_;
  FilterPlaces places_;
  Work work_;
};

Layouts wish(const KernelRequest& request) {
  const Loops& loops = *loops_here();
  Layouts layouts = row_major(request);
  layouts.in[0] = layout_for(request.in[0], loops);
  if (pass_of(request.node) == ConvPass::grad_w) {
    layouts.in[ConvGradWIn::dy] = layout_for(request.in[ConvGradWIn::dy], loops);
  } else {
    layouts.out[0] = Layout::blocks(loops.lanes());
    lay_z_as_result(request, layouts);
  }
  return layouts;
}

std::unique_ptr<Kernel> prepare_grad_w(const ConvProblem& problem, const Loops& loops) {
  const Conv2d conv = problem.conv2d();
  return std::make_unique<WinogradGradW>(loops, conv.images, images_of(problem.x, loops),
                                         images_of(problem.y, loops), conv.down.pad,
                                         conv.across.pad, problem.threads);
}

// Computes the result, or the gradient of the input with images exchanged and filters rotated.
std::unique_ptr<Kernel> prepare_images(const ConvProblem& problem, const Loops& loops) {
  const Conv2d conv = problem.conv2d();
  const bool is_gradient = problem.pass == ConvPass::grad_x;
  const auto padding = [&](const ConvAxis& axis) { return is_gradient ? 2 - axis.pad : axis.pad; };
  return std::make_unique<WinogradKernel>(
      loops,
      Direction{.from = images_of(is_gradient ? problem.y : problem.x, loops),
                .to = images_of(is_gradient ? problem.x : problem.y, loops),
                .images = conv.images,
                .top = padding(conv.down),
                .left = padding(conv.across),
                .filters = is_gradient ? FilterPlaces{conv.outputs, 9 * conv.inputs, 9, true}
                                       : FilterPlaces{conv.inputs, 9, 9 * conv.inputs, false},
                .epilogue = is_gradient ? ConvEpilogue() : problem.epilogue},
      problem.threads);
}

}  // namespace

std::unique_ptr<Kernel> prepare_winograd(const KernelRequest& request, const Loops& loops) {
  const ConvProblem problem(request);
  switch (problem.pass) {
    case ConvPass::grad_w:
      return prepare_grad_w(problem, loops);
    case ConvPass::grad_x:
      return prepare_images(problem, loops);
    case ConvPass::forward:
      supported(!problem.epilogue.statistics, "leaves sums of the result to others");
      check_z_lies_as_result(request);
      return prepare_images(problem, loops);
  }
  return nullptr;
}

std::vector<ConvImplementation> winograd_convolutions() {
  const auto prepare = [](const KernelRequest& request) {
    return prepare_winograd(request, *loops_here());
  };
  return {{.passes = {ConvPass::forward, ConvPass::grad_x, ConvPass::grad_w},
           .types = takes<Float32>(),
           .candidate = {"Winograd", refusal, prepare, wish},
           .is_exact = false}};
}

}  // namespace lockstep
