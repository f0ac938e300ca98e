// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/amx/amx.h"

#include <algorithm>
#include <optional>

#include "operators/conv/amx/passes.h"
#include "operators/conv/amx/takes_tiles.h"
#include "operators/conv/epilogue.h"
#include "operators/conv/shapes.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"
#include "runtime/layout/places_in_tiles.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

using namespace amx;

std::string shapes_refusal(const KernelRequest& request, const ConvShapes& shapes) {
  const Dims &x = shapes.x.dims, &w = shapes.w.dims, &y = shapes.y.dims;
  if (x.size() != 4) return "takes images";
  const ConvAttrs attrs = shapes.attrs(request);
  if (attrs.group != 1) return "takes one group";
  if (!worth_padding(x[1], kBlock) || !worth_padding(y[1], kBlock))
    return join("takes ", kBlock / 2, " channels or more");
  constexpr int64_t kMostOfRow = 1 << 22;  // elements: at least one row of windows is packed
  const int64_t channels = (std::max(x[1], y[1]) + kDeep - 1) / kDeep * kDeep;
  const int64_t row = (x[3] + y[3] + w[3] * attrs.window.dilations[1]) *
                      (w[2] * attrs.window.dilations[0] + attrs.window.strides[0]);
  if (row * channels > kMostOfRow) return "leaves long rows to others";
  return "";
}

std::string forward_refusal(const KernelRequest& request) {
  if (read_epilogue(request).statistics) return "leaves sums of the result to others";
  return shapes_refusal(request, ConvShapes::of_forward(request));
}
std::string grad_x_refusal(const KernelRequest& request) {
  return shapes_refusal(request, ConvShapes::of_grad_x(request));
}
std::string grad_w_refusal(const KernelRequest& request) {
  return shapes_refusal(request, ConvShapes::of_grad_w(request));
}

Problem problem_of(const KernelRequest& request, const ConvShapes& shapes) {
  for (const TensorDesc* desc : {&shapes.x, &shapes.y})
    supported(desc->layout == Layout::blocks(kBlock), "takes channel blocks of ", kBlock, ", not ",
              text_of(*desc));
  const Dims &x = shapes.x.dims, &w = shapes.w.dims, &y = shapes.y.dims;
  const Window window = shapes.attrs(request).window;
  const auto span = [&](std::size_t i) {
    return Span{w[2 + i], window.strides[i], window.dilations[i], window.pads[i]};
  };
  return {.images = x[0],
          .inputs = x[1],
          .outputs = y[1],
          .down = span(0),
          .across = span(1),
          .height = x[2],
          .width = x[3],
          .out_height = y[2],
          .out_width = y[3]};
}

// In the plan, filters lie in whole tiles, of all passes, or row-major.
Layout tiles_or_rows(const TensorDesc& filters, const FilterTiles& tiles) {
  const bool whole = filters.dims[0] % kDeep == 0 && filters.dims[1] % kDeep == 0;
  return whole ? Layout::in(tiles) : Layout();
}

// Filters that do not lie in the pass's tiles are moved there within; what they do not fill is 0.
class Filters {
 public:
  Filters(const TensorDesc& filters, const FilterTiles& tiles, int threads)
      : desc_(filters), threads_(threads) {
    if (filters.layout == Layout::in(tiles)) return;
    supported(filters.layout.is_rows(), "takes filters in ", text_of(tiles), ", not ",
              text_of(filters));
    places_.emplace(filters.dims, tiles);
  }

  std::size_t bytes() const {
    return places_ ? static_cast<std::size_t>(places_->count()) * sizeof(BFloat16) : 0;
  }
  std::size_t reordered_bytes() const { return places_ ? desc_.bytes() + bytes() : 0; }

  const BFloat16* in_tiles(const Tensor& filters, std::byte* room) const {
    const auto* from = filters.as<const BFloat16>();
    if (!places_) return from;
    auto* to = reinterpret_cast<BFloat16*>(room);
    if (places_->count() > desc_.count())
      parallel_for(places_->count(), 16384, threads_, [&](int64_t begin, int64_t end) {
        std::fill(to + begin, to + end, BFloat16());
      });
    parallel_for(desc_.count(), 16384, threads_, [&](int64_t begin, int64_t end) {
      places_->each(begin, end - begin,
                    [&](int64_t n, int64_t place) { to[place] = from[begin + n]; });
    });
    return to;
  }

 private:
  TensorDesc desc_;
  int threads_;
  std::optional<PlacesInTiles> places_;
};

// A Conv, a FusedConv, or one of their gradients by the data.
class AmxConvolution final : public Kernel {
 public:
  struct Operands {
    std::size_t source, bias, z;
  };
  AmxConvolution(Convolves passes, Filters filters, const Operands& operands,
                 const ConvEpilogue& epilogue)
      : passes_(std::move(passes)),
        filters_(std::move(filters)),
        operands_(operands),
        epilogue_(epilogue) {}

  void run(const KernelArgs& args) override {
    const auto operand = [&](bool is, std::size_t i) {
      return is ? args.in[i].as<const BFloat16>() : nullptr;
    };
    passes_.run({.source = operand(true, operands_.source),
                 .filters = filters_.in_tiles(args.in[ConvIn::w], args.workspace),
                 .bias = operand(epilogue_.bias, operands_.bias),
                 .z = operand(epilogue_.addition, operands_.z),
                 .relu = epilogue_.relu,
                 .y = args.out[0].as<BFloat16>()},
                args.workspace + filters_.bytes());
  }
  std::size_t workspace_bytes() const override {
    return filters_.bytes() + passes_.workspace_bytes();
  }
  std::size_t reordered_bytes() const override { return filters_.reordered_bytes(); }
  std::string describe() const override { return "AMX, c16" + text_of(epilogue_); }

 private:
  static_assert(std::size_t{ConvIn::w} == std::size_t{ConvGradXIn::w});

  Convolves passes_;
  Filters filters_;
  Operands operands_;
  ConvEpilogue epilogue_;
};

std::unique_ptr<Kernel> prepare_amx_forward(const KernelRequest& request) {
  const auto shapes = ConvShapes::of_forward(request);
  const Problem problem = problem_of(request, shapes);
  check_z_lies_as_result(request);
  return std::make_unique<AmxConvolution>(
      Convolves::forward(problem, request.threads),
      Filters(shapes.w, kForwardTiles, request.threads),
      AmxConvolution::Operands{ConvIn::x, ConvIn::bias, ConvIn::z}, read_epilogue(request));
}

std::unique_ptr<Kernel> prepare_amx_grad_x(const KernelRequest& request) {
  const auto shapes = ConvShapes::of_grad_x(request);
  const Problem problem = problem_of(request, shapes);
  const bool adds = request.in.size() > ConvGradXIn::z;
  if (adds) {
    const TensorDesc& z = request.in[ConvGradXIn::z];
    supported(z == shapes.x, "takes a z in the layout of its result ", text_of(shapes.x), ", not ",
              text_of(z));
  }
  return std::make_unique<AmxConvolution>(
      Convolves::backward(problem, request.threads),
      Filters(shapes.w, kBackwardTiles, request.threads),
      AmxConvolution::Operands{ConvGradXIn::dy, 0, ConvGradXIn::z}, ConvEpilogue{.addition = adds});
}

class AmxGradW final : public Kernel {
 public:
  explicit AmxGradW(FilterGradient gradient) : gradient_(std::move(gradient)) {}

  void run(const KernelArgs& args) override {
    gradient_.run(args.in[ConvGradWIn::x].as<const BFloat16>(),
                  args.in[ConvGradWIn::dy].as<const BFloat16>(), args.out[0].as<BFloat16>(),
                  args.workspace);
  }
  std::size_t workspace_bytes() const override { return gradient_.workspace_bytes(); }
  std::string describe() const override { return "AMX, c16"; }

 private:
  FilterGradient gradient_;
};

std::unique_ptr<Kernel> prepare_amx_grad_w(const KernelRequest& request) {
  const auto shapes = ConvShapes::of_grad_w(request);
  const Problem problem = problem_of(request, shapes);
  const bool in_tiles = !shapes.w.layout.is_rows();
  supported(!in_tiles || shapes.w.layout == tiles_or_rows(shapes.w, kGradientTiles),
            "makes filters in ", text_of(kGradientTiles), ", not ", text_of(shapes.w));
  return std::make_unique<AmxGradW>(FilterGradient(problem, in_tiles, request.threads));
}

Layouts amx_forward_wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[ConvIn::x] = layouts.out[ConvOut::y] = Layout::blocks(kBlock);
  layouts.in[ConvIn::w] = tiles_or_rows(request.in[ConvIn::w], kForwardTiles);
  lay_z_as_result(request, layouts);
  return layouts;
}

Layouts amx_grad_x_wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[ConvGradXIn::dy] = layouts.out[0] = Layout::blocks(kBlock);
  layouts.in[ConvGradXIn::w] = tiles_or_rows(request.in[ConvGradXIn::w], kBackwardTiles);
  if (request.in.size() > ConvGradXIn::z) layouts.in[ConvGradXIn::z] = layouts.out[0];
  return layouts;
}

Layouts amx_grad_w_wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[ConvGradWIn::x] = layouts.in[ConvGradWIn::dy] = Layout::blocks(kBlock);
  layouts.out[0] = tiles_or_rows(request.out[0], kGradientTiles);
  return layouts;
}

}  // namespace

Candidate amx_forward(Refusal processor) {
  return {"AMX", takes_tiles(std::move(processor), forward_refusal), prepare_amx_forward,
          amx_forward_wish};
}
Candidate amx_grad_x(Refusal processor) {
  return {"AMX", takes_tiles(std::move(processor), grad_x_refusal), prepare_amx_grad_x,
          amx_grad_x_wish};
}
Candidate amx_grad_w(Refusal processor) {
  return {"AMX", takes_tiles(std::move(processor), grad_w_refusal), prepare_amx_grad_w,
          amx_grad_w_wish};
}

}  // namespace lockstep
