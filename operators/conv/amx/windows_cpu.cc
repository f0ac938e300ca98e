// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network, and the gradient of its filters.
#include "operators/conv/amx/amx.h"
#include "operators/conv/amx/passes.h"
#include "operators/conv/amx/takes_tiles.h"
#include "operators/conv/epilogue.h"
#include "operators/conv/shapes.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"

namespace lockstep {
namespace {

using namespace amx;

Windows windows_of(const KernelRequest& request, const ConvShapes& shapes) {
  const Dims &x = shapes.x.dims, &w = shapes.w.dims, &y = shapes.y.dims;
  const Window window = shapes.attrs(request).window;
  const auto span = [&](std::size_t i) {
    return Span{w[2 + i], window.strides[i], window.dilations[i], window.pads[i]};
  };
  return {.channels = x[1],
          .height = x[2],
          .width = x[3],
          .outputs = y[1],
          .down = span(0),
          .across = span(1),
          .out_height = y[2],
          .out_width = y[3]};
}

std::string windows_refusal(const KernelRequest& request, const ConvShapes& shapes) {
  if (shapes.x.dims.size() != 4) return "takes images";
  const ConvAttrs attrs = shapes.attrs(request);
  if (attrs.group != 1) return "takes one group";
  constexpr int64_t kFew = kBlock / 2;
  if (worth_padding(shapes.x.dims[1], kBlock)) return join("takes fewer than ", kFew, " channels");
  if (!worth_padding(shapes.y.dims[1], kBlock)) return join("makes ", kFew, " channels or more");
  const Windows windows = windows_of(request, shapes);
  if (windows.down.hole != 1 || windows.across.hole != 1) return "takes windows without holes";
  if (windows.across.size < Windows::kShortestRow || windows.across.size > Windows::kRowPlaces)
    return join("takes windows ", Windows::kShortestRow, " to ", Windows::kRowPlaces, " wide");
  constexpr int64_t kMostOfRow = 1 << 22;  // elements: at least one row of windows is packed
  if (windows.places() * windows.out_width > kMostOfRow) return "leaves long rows to others";
  return "";
}

std::string forward_windows_refusal(const KernelRequest& request) {
  if (read_epilogue(request).statistics) return "leaves sums of the result to others";
  return windows_refusal(request, ConvShapes::of_forward(request));
}
std::string grad_w_windows_refusal(const KernelRequest& request) {
  return windows_refusal(request, ConvShapes::of_grad_w(request));
}

void check_layouts(const ConvShapes& shapes) {
  for (const TensorDesc* desc : {&shapes.x, &shapes.w})
    supported(desc->layout.is_rows(), "takes row-major images and filters, not ", text_of(*desc));
  supported(shapes.y.layout == Layout::blocks(kBlock), "takes channel blocks of ", kBlock, ", not ",
            text_of(shapes.y));
}

class AmxWindows final : public Kernel {
 public:
  AmxWindows(const Windows& windows, Convolves passes, const TensorDesc& w,
             const ConvEpilogue& epilogue)
      : windows_(windows),
        passes_(std::move(passes)),
        reordered_(2 * w.bytes()),
        epilogue_(epilogue) {}

  void run(const KernelArgs& args) override {
    const auto operand = [&](bool is, std::size_t i) {
      return is ? args.in[i].as<const BFloat16>() : nullptr;
    };
    auto* const tiles = reinterpret_cast<BFloat16*>(args.workspace);
    windows_.fill_tiles(args.in[ConvIn::w].as<const BFloat16>(), tiles);
    passes_.run({.source = operand(true, ConvIn::x),
                 .filters = tiles,
                 .bias = operand(epilogue_.bias, ConvIn::bias),
                 .z = operand(epilogue_.addition, ConvIn::z),
                 .relu = epilogue_.relu,
                 .y = args.out[0].as<BFloat16>()},
                args.workspace + windows_.filter_bytes());
  }
  std::size_t workspace_bytes() const override {
    return windows_.filter_bytes() + passes_.workspace_bytes();
  }
  std::size_t reordered_bytes() const override { return reordered_; }
  std::string describe() const override { return "AMX, windows" + text_of(epilogue_); }

 private:
  Windows windows_;
  Convolves passes_;
  std::size_t reordered_;
  ConvEpilogue epilogue_;
};

class AmxWindowsGradW final : public Kernel {
 public:
  AmxWindowsGradW(const Windows& windows, FilterGradient gradient)
      : windows_(windows), gradient_(std::move(gradient)) {}

  void run(const KernelArgs& args) override {
    auto* const with_zeros = reinterpret_cast<BFloat16*>(args.workspace);
    gradient_.run(args.in[ConvGradWIn::x].as<const BFloat16>(),
                  args.in[ConvGradWIn::dy].as<const BFloat16>(), with_zeros,
                  args.workspace + windows_.filter_bytes());
    windows_.take_filters(with_zeros, args.out[0].as<BFloat16>());
  }
  std::size_t workspace_bytes() const override {
    return windows_.filter_bytes() + gradient_.workspace_bytes();
  }
  std::string describe() const override { return "AMX, windows"; }

 private:
  Windows windows_;
  FilterGradient gradient_;
};

std::unique_ptr<Kernel> prepare_windows_forward(const KernelRequest& request) {
  const auto shapes = ConvShapes::of_forward(request);
  check_layouts(shapes);
  check_z_lies_as_result(request);
  const Windows windows = windows_of(request, shapes);
  const Problem problem = Problem::of(windows, shapes.x.dims[0]);
  return std::make_unique<AmxWindows>(windows, Convolves::forward(problem, request.threads),
                                      shapes.w, read_epilogue(request));
}

std::unique_ptr<Kernel> prepare_windows_grad_w(const KernelRequest& request) {
  const auto shapes = ConvShapes::of_grad_w(request);
  check_layouts(shapes);
  const Windows windows = windows_of(request, shapes);
  const Problem problem = Problem::of(windows, shapes.x.dims[0]);
  return std::make_unique<AmxWindowsGradW>(windows,
                                           FilterGradient(problem, false, request.threads));
}

Layouts windows_forward_wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.out[ConvOut::y] = Layout::blocks(kBlock);
  lay_z_as_result(request, layouts);
  return layouts;
}

Layouts windows_grad_w_wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  layouts.in[ConvGradWIn::dy] = Layout::blocks(kBlock);
  return layouts;
}

}  // namespace

Candidate amx_windows_forward(Refusal processor) {
  return {"AMX, windows", takes_tiles(std::move(processor), forward_windows_refusal),
          prepare_windows_forward, windows_forward_wish};
}
Candidate amx_windows_grad_w(Refusal processor) {
  return {"AMX, windows", takes_tiles(std::move(processor), grad_w_windows_refusal),
          prepare_windows_grad_w, windows_grad_w_wish};
}

}  // namespace lockstep
