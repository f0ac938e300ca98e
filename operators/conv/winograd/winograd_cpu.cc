#include "operators/conv/winograd/winograd.h"

#include <algorithm>
#include <numeric>

#include "operators/conv/epilogue.h"
#include "operators/conv/shapes.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "runtime/parallel.h"

namespace lockstep {
namespace {

using namespace winograd;

std::string refusal(const KernelRequest& request, const ConvShapes& shapes) {
  if (request.exact) return "is not exact";
  const Dims &x = shapes.x.dims, &w = shapes.w.dims, &y = shapes.y.dims;
  const Loops* loops = loops_here();
  if (!loops) return "wants a processor with AVX2";
  if (w.size() != 4 || w[2] != 3 || w[3] != 3) return "takes 3x3 windows";
  const ConvAttrs attrs = shapes.attrs(request);
  if (attrs.group != 1) return "takes one group";
  for (int64_t step : attrs.window.strides)
    if (step != 1) return "takes windows at every place";
  for (int64_t step : attrs.window.dilations)
    if (step != 1) return "takes windows without holes";
  const int64_t channels = 2 * loops->lanes();
  if (x[1] % channels != 0 || y[1] % channels != 0)
    return join("takes multiples of ", channels, " channels");
  const WinogradCost cost{x[0], x[1], y[1], y[2], y[3], loops->lanes()};
  // Not for a small gain: it needs memory for tiles, too.
  if (cost.winograd() > 0.9 * cost.direct()) return "gains nothing from so few channels or pixels";
  return "";
}

// A tensor's own channel blocks where the loops can read them.
int block_for(const TensorDesc& tensor, const Loops& loops) {
  return tensor.channel_block % loops.lanes() == 0 ? tensor.channel_block : loops.lanes();
}

Images images_of(const TensorDesc& tensor, const Loops& loops) {
  supported(tensor.channel_block % loops.lanes() == 0, "takes channel blocks of ", loops.lanes(),
            ", not ", text_of(tensor));
  return {tensor.dims[1], tensor.dims[2], tensor.dims[3], tensor.channel_block};
}

// An odd number of cache lines more than a multiple of a page, so that the 36 values of a tile do
// not compete for the same places of a cache.
int64_t stride_of(int64_t floats) { return (floats + 1023) / 1024 * 1024 + 112; }

// How many tiles are worked on at once: few enough to stay in the cache between transforms and
// products. Does not change results.
int64_t tiles_at_once(int64_t inputs, int64_t outputs, int64_t all, int threads) {
  constexpr int64_t kBytes = int64_t{2} << 20, kLeast = 24;
  const int64_t one = kPoints * (inputs + outputs) * static_cast<int64_t>(sizeof(float));
  return std::min(all, std::max(kLeast, kBytes / one / 12 * 12) * threads);
}

// Transformed filters that no cache holds are made and used in parts, some outputs at a time. Each
// part reads all tiles of inputs, so this is for filters that take more memory than all tiles. Does
// not change results.
int64_t outputs_at_once(int64_t inputs, int64_t outputs, int64_t tiles, int64_t multiple) {
  constexpr int64_t kBytes = int64_t{5} << 20;
  const int64_t one = kPoints * inputs * static_cast<int64_t>(sizeof(float));
  if (one * outputs <= kBytes || tiles * (inputs + outputs) > inputs * outputs) return outputs;
  return std::max<int64_t>(1, kBytes / one / multiple) * multiple;
}

// What all three kernels share: tiles in turns or filters in parts, and the memory for them.
class Work {
 public:
  Work(const Loops& loops, int64_t images, const Images& tiled, int64_t inputs, int64_t outputs,
       int64_t outputs_block, int threads)
      : loops(loops),
        inputs(inputs),
        outputs(outputs),
        down((tiled.height + kTile - 1) / kTile),
        across((tiled.width + kTile - 1) / kTile),
        all(images * down * across),
        outputs_of_part(outputs_at_once(inputs, outputs, all,
                                        std::lcm<int64_t>(outputs_block, 2 * loops.lanes()))),
        tiles_of_turn(outputs_of_part < outputs ? all
                                                : tiles_at_once(inputs, outputs, all, threads)),
        input_stride(stride_of(inputs * tiles_of_turn)),
        output_stride(stride_of(outputs * tiles_of_turn)),
        filter_stride(stride_of(inputs * outputs_of_part)),
        threads(threads) {}

  const Loops& loops;
  int64_t inputs, outputs;
  int64_t down, across, all;
  int64_t outputs_of_part, tiles_of_turn;
  int64_t input_stride, output_stride, filter_stride;
  int threads;

  std::size_t bytes() const {
    return static_cast<std::size_t>(kPoints * (input_stride + output_stride + filter_stride)) *
           sizeof(float);
  }
  float* filters(std::byte* workspace) const { return reinterpret_cast<float*>(workspace); }
  float* input_tiles(std::byte* workspace) const {
    return filters(workspace) + kPoints * filter_stride;
  }
  float* output_tiles(std::byte* workspace) const {
    return input_tiles(workspace) + kPoints * input_stride;
  }

  struct Part {
    int64_t first, outputs;
  };
  int64_t panels(const Part& part) const { return part.outputs / (2 * loops.lanes()); }

  // visit(part) for all outputs.
  template <class Visit>
  void each_part(const Visit& visit) const {
    for (int64_t first = 0; first < outputs; first += outputs_of_part)
      visit(Part{first, std::min(outputs_of_part, outputs - first)});
  }
  // visit(tiles) for all tiles: in more than one turn only if there is one part.
  template <class Visit>
  void each_turn(const Visit& visit) const {
    for (int64_t first = 0; first < all; first += tiles_of_turn)
      visit(Tiles{down, across, first, std::min(tiles_of_turn, all - first)});
  }
  Products products(const Part& part, const Tiles& tiles) const {
    return {inputs, part.outputs, tiles.count, input_stride, output_stride, filter_stride};
  }
  // run(begin, end) for the items of a loop.
  template <class Run>
  void share(int64_t items, const Run& run) const {
    parallel_for(items, 16, threads, run);
  }
  std::string describe() const { return join("Winograd, ", loops.name()); }
};

// From x to y, and, with filters turned and padding exchanged, from dy to dx.
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
        work_(loops, direction.images, direction.to, direction.from.channels, direction.to.channels,
              direction.to.block, threads) {}

  void run(const KernelArgs& args) override {
    const Loops& loops = work_.loops;
    const auto* x = args.in[0].as<float>();
    const auto* w = args.in[1].as<float>();
    auto* y = args.out[0].as<float>();
    float* const filters = work_.filters(args.workspace);
    float* const from = work_.input_tiles(args.workspace);
    float* const to = work_.output_tiles(args.workspace);
    const ConvEpilogue& after = does_.epilogue;
    const auto* bias = after.bias ? args.in[ConvIn::bias].as<float>() : nullptr;
    const auto* z = after.addition ? args.in[ConvIn::z].as<float>() : nullptr;

    work_.each_part([&](const Work::Part& part) {
      const int64_t first_plane = part.first * does_.to.height * does_.to.width;
      const Postlude postlude{bias ? bias + part.first : nullptr, z ? z + first_plane : nullptr,
                              after.relu};
      work_.share(work_.panels(part) * work_.inputs, [&](int64_t begin, int64_t end) {
        loops.filters(w + part.first * does_.filters.of_output, does_.filters, work_.filter_stride,
                      filters, begin, end);
      });
      work_.each_turn([&](const Tiles& tiles) {
        if (part.first == 0)  // the other parts find them
          work_.share(work_.inputs / loops.lanes() * tiles.count, [&](int64_t begin, int64_t end) {
            loops.tile_inputs(x, does_.from, does_.top, does_.left, tiles, work_.input_stride, from,
                              begin, end);
          });
        work_.share(kPoints * work_.panels(part), [&](int64_t begin, int64_t end) {
          loops.multiply(from, filters, work_.products(part, tiles), to, begin, end);
        });
        work_.share(part.outputs / loops.lanes() * tiles.count, [&](int64_t begin, int64_t end) {
          loops.outputs(to, work_.output_stride, tiles, postlude, does_.to, y + first_plane, begin,
                        end);
        });
      });
    });
  }
  std::size_t workspace_bytes() const override { return work_.bytes(); }
  std::string describe() const override { return work_.describe() + text_of(does_.epilogue); }

 private:
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
        places_{x.channels, y.channels, 9, 9 * x.channels, false},
        work_(loops, images, y, x.channels, y.channels, y.block, threads) {}

  void run(const KernelArgs& args) override {
    const Loops& loops = work_.loops;
    const auto* x = args.in[ConvGradWIn::x].as<float>();
    const auto* dy = args.in[ConvGradWIn::dy].as<float>();
    auto* dw = args.out[0].as<float>();
    float* const filters = work_.filters(args.workspace);
    float* const inputs = work_.input_tiles(args.workspace);
    float* const outputs = work_.output_tiles(args.workspace);

    work_.each_part([&](const Work::Part& part) {
      work_.each_turn([&](const Tiles& tiles) {
        if (part.first == 0)
          make_tiles(x, dy, tiles, inputs, outputs);  // the other parts find them
        work_.share(kPoints * work_.panels(part) * (work_.inputs / loops.lanes()),
                    [&](int64_t begin, int64_t end) {
                      loops.add_products(inputs, outputs + part.first * tiles.count,
                                         work_.products(part, tiles), tiles.first == 0, filters,
                                         begin, end);
                    });
      });
      work_.share(work_.panels(part) * work_.inputs, [&](int64_t begin, int64_t end) {
        loops.filter_gradients(filters, work_.filter_stride, places_,
                               dw + part.first * places_.of_output, begin, end);
      });
    });
  }
  std::size_t workspace_bytes() const override { return work_.bytes(); }
  std::string describe() const override { return work_.describe(); }

 private:
  void make_tiles(const float* x, const float* dy, const Tiles& tiles, float* inputs,
                  float* outputs) const {
    const Loops& loops = work_.loops;
    work_.share(work_.inputs / loops.lanes() * tiles.count, [&](int64_t begin, int64_t end) {
      loops.tile_inputs(x, x_, top_, left_, tiles, work_.input_stride, inputs, begin, end);
    });
    work_.share(work_.outputs / loops.lanes() * tiles.count, [&](int64_t begin, int64_t end) {
      loops.tile_gradients(dy, y_, tiles, work_.output_stride, outputs, begin, end);
    });
  }

  Images x_, y_;
  int64_t top_, left_;
  FilterPlaces places_;
  Work work_;
};

// A candidate with this processor's loops.
template <auto kShapes, auto kPrepare, auto kWish>
Candidate candidate() {
  return {"Winograd",
          every({takes<Float32>(),
                 [](const KernelRequest& request) { return refusal(request, kShapes(request)); }}),
          [](const KernelRequest& request) { return kPrepare(request, *loops_here()); },
          [](const KernelRequest& request) { return kWish(request, *loops_here()); }};
}

Layouts forward_wish(const KernelRequest& request, const Loops& loops) {
  Layouts layouts = row_major(request);
  layouts.in[0] = block_for(request.in[0], loops);
  layouts.out[0] = loops.lanes();
  lay_z_as_result(request, layouts);
  return layouts;
}

Layouts grad_w_wish(const KernelRequest& request, const Loops& loops) {
  Layouts layouts = row_major(request);
  for (std::size_t i : {ConvGradWIn::x, ConvGradWIn::dy})
    layouts.in[i] = block_for(request.in[i], loops);
  return layouts;
}

}  // namespace

std::unique_ptr<Kernel> prepare_winograd_forward(const KernelRequest& request, const Loops& loops) {
  const auto shapes = ConvShapes::of_forward(request);
  const Window window = shapes.attrs(request).window;
  const int64_t inputs = shapes.x.dims[1], outputs = shapes.y.dims[1];
  const ConvEpilogue epilogue = read_epilogue(request);
  supported(!epilogue.statistics, "leaves sums of the result to others");
  check_z_lies_as_result(request);
  return std::make_unique<WinogradKernel>(
      loops,
      Direction{.from = images_of(shapes.x, loops),
                .to = images_of(shapes.y, loops),
                .images = shapes.x.dims[0],
                .top = window.pads[0],
                .left = window.pads[1],
                .filters = {inputs, outputs, 9, 9 * inputs, false},
                .epilogue = epilogue},
      request.threads);
}

std::unique_ptr<Kernel> prepare_winograd_grad_x(const KernelRequest& request, const Loops& loops) {
  const auto shapes = ConvShapes::of_grad_x(request);
  const Window window = shapes.attrs(request).window;
  const int64_t inputs = shapes.x.dims[1], outputs = shapes.y.dims[1];
  return std::make_unique<WinogradKernel>(
      loops,
      Direction{.from = images_of(shapes.y, loops),
                .to = images_of(shapes.x, loops),
                .images = shapes.x.dims[0],
                .top = 2 - window.pads[0],
                .left = 2 - window.pads[1],
                .filters = {outputs, inputs, 9 * inputs, 9, true},
                .epilogue = {}},
      request.threads);
}

std::unique_ptr<Kernel> prepare_winograd_grad_w(const KernelRequest& request, const Loops& loops) {
  const auto shapes = ConvShapes::of_grad_w(request);
  const Window window = shapes.attrs(request).window;
  return std::make_unique<WinogradGradW>(loops, shapes.x.dims[0], images_of(shapes.x, loops),
                                         images_of(shapes.y, loops), window.pads[0], window.pads[1],
                                         request.threads);
}

Candidate winograd_forward() {
  return candidate<ConvShapes::of_forward, prepare_winograd_forward, forward_wish>();
}
Candidate winograd_grad_x() {
  return candidate<ConvShapes::of_grad_x, prepare_winograd_grad_x, forward_wish>();
}
Candidate winograd_grad_w() {
  return candidate<ConvShapes::of_grad_w, prepare_winograd_grad_w, grad_w_wish>();
}

}  // namespace lockstep
