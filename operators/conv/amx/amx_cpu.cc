// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/amx/amx.h"

#include <algorithm>
#include <optional>

#include "operators/conv/amx/driver.h"
#include "operators/conv/amx/tuning.h"
#include "operators/conv/conv.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"
#include "runtime/layout/places_in_tiles.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

using namespace amx;

std::string refusal(const KernelRequest& request) {
  const ConvProblem problem(request);
  const Conv2d conv = problem.conv2d();
  if (!worth_padding(conv.inputs, kBlock) || !worth_padding(conv.outputs, kBlock))
    return join("takes ", kBlock / 2, " channels or more");
  const ConvAxis &down = conv.down, &across = conv.across;
  const int64_t channels = (std::max(conv.inputs, conv.outputs) + kDeep - 1) / kDeep * kDeep;
  const int64_t row = (across.image + across.result + across.window * across.hole) *
                      (down.window * down.hole + down.step);
  if (row * channels > kTuning.longest_row) return "leaves long rows to others";
  return "";
}

BlockedConv blocked(const ConvProblem& problem) {
  for (const TensorDesc* desc : {&problem.x, &problem.y})
    supported(desc->layout == Layout::blocks(kBlock), "takes channel blocks of ", kBlock, ", not ",
              text_of(*desc));
  return {problem.conv2d()};
}

// The planned layout of filters: tiles in all passes if the filters fill whole tiles, else
// row-major.
Layout tiles_or_rows(const TensorDesc& filters, const FilterTiles& tiles) {
  const bool whole = filters.dims[0] % kDeep == 0 && filters.dims[1] % kDeep == 0;
  return whole ? Layout::in(tiles) : Layout();
}

// Filters in a pass's tiles. Filters in another layout are reordered inside the kernel, with 0 in
// the unused elements of tiles.
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

// A Conv, a FusedConv, or the gradient of either with respect to the data.
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

std::unique_ptr<Kernel> prepare_forward(const ConvProblem& problem, const BlockedConv& conv) {
  return std::make_unique<AmxConvolution>(
      Convolves::forward(conv, problem.threads), Filters(problem.w, kForwardTiles, problem.threads),
      AmxConvolution::Operands{ConvIn::x, ConvIn::bias, ConvIn::z}, problem.epilogue);
}

std::unique_ptr<Kernel> prepare_grad_x(const KernelRequest& request, const ConvProblem& problem,
                                       const BlockedConv& conv) {
  if (problem.epilogue.addition) {
    const TensorDesc& z = request.in[ConvGradXIn::z];
    supported(z == problem.x, "takes a z in the layout of its result ", text_of(problem.x),
              ", not ", text_of(z));
  }
  return std::make_unique<AmxConvolution>(
      Convolves::backward(conv, problem.threads),
      Filters(problem.w, kBackwardTiles, problem.threads),
      AmxConvolution::Operands{ConvGradXIn::dy, 0, ConvGradXIn::z}, problem.epilogue);
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

std::unique_ptr<Kernel> prepare_grad_w(const ConvProblem& problem, const BlockedConv& conv) {
  const TensorDesc& w = problem.w;
  const bool in_tiles = !w.layout.is_rows();
  supported(!in_tiles || w.layout == tiles_or_rows(w, kGradientTiles), "makes filters in ",
            text_of(kGradientTiles), ", not ", text_of(w));
  return std::make_unique<AmxGradW>(FilterGradient(conv, in_tiles, problem.threads));
}

std::unique_ptr<Kernel> prepare(const KernelRequest& request) {
  const ConvProblem problem(request);
  const BlockedConv conv = blocked(problem);
  switch (problem.pass) {
    case ConvPass::forward:
      check_z_lies_as_result(request);
      return prepare_forward(problem, conv);
    case ConvPass::grad_x:
      return prepare_grad_x(request, problem, conv);
    case ConvPass::grad_w:
      return prepare_grad_w(problem, conv);
  }
  return nullptr;
}

Layouts wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[0] = Layout::blocks(kBlock);
  switch (pass_of(request.node)) {
    case ConvPass::forward:
      layouts.out[ConvOut::y] = Layout::blocks(kBlock);
      layouts.in[ConvIn::w] = tiles_or_rows(request.in[ConvIn::w], kForwardTiles);
      lay_z_as_result(request, layouts);
      break;
    case ConvPass::grad_x:
      layouts.out[0] = Layout::blocks(kBlock);
      layouts.in[ConvGradXIn::w] = tiles_or_rows(request.in[ConvGradXIn::w], kBackwardTiles);
      if (request.in.size() > ConvGradXIn::z) layouts.in[ConvGradXIn::z] = layouts.out[0];
      break;
    case ConvPass::grad_w:
      layouts.in[ConvGradWIn::dy] = Layout::blocks(kBlock);
      layouts.out[0] = tiles_or_rows(request.out[0], kGradientTiles);
  }
  return layouts;
}

}  // namespace

std::vector<ConvImplementation> amx_convolutions() {
  return {{.passes = {ConvPass::forward, ConvPass::grad_x, ConvPass::grad_w},
           .types = takes<Types<BFloat16>>(),
           .candidate = {"AMX", takes_tiles(refusal), prepare, wish},
           .adds = true},
          amx_windows()};
}

}  // namespace lockstep
