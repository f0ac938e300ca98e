// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network, and the gradient of its filters.
#include "operators/conv/amx/amx.h"
#include "operators/conv/amx/driver.h"
#include "operators/conv/amx/tuning.h"
#include "operators/conv/conv.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"
#include "operators/layout/padding.h"

namespace lockstep {
namespace {

using namespace amx;

std::string refusal(const KernelRequest& request) {
  const ConvProblem problem(request);
  const Windows windows{problem.conv2d()};
  constexpr int64_t kFew = kBlock / 2;
  if (worth_padding(windows.inputs, kBlock)) return join("takes fewer than ", kFew, " channels");
  if (!worth_padding(windows.outputs, kBlock)) return join("makes ", kFew, " channels or more");
  if (windows.down.hole != 1 || windows.across.hole != 1) return "takes windows without holes";
  const int64_t wide = windows.across.window;
  if (wide < Windows::kShortestRow || wide > Windows::kRowPlaces)
    return join("takes windows ", Windows::kShortestRow, " to ", Windows::kRowPlaces, " wide");
  if (windows.places() * windows.across.result > kTuning.longest_row)
    return "leaves long rows to others";
  return "";
}

void check_layouts(const ConvProblem& problem) {
  for (const TensorDesc* desc : {&problem.x, &problem.w})
    supported(desc->layout.is_rows(), "takes row-major images and filters, not ", text_of(*desc));
  supported(problem.y.layout == Layout::blocks(kBlock), "takes channel blocks of ", kBlock,
            ", not ", text_of(problem.y));
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

std::unique_ptr<Kernel> prepare(const KernelRequest& request) {
  const ConvProblem problem(request);
  check_layouts(problem);
  const Windows windows{problem.conv2d()};
  const BlockedConv conv = BlockedConv::of(windows);
  if (problem.pass == ConvPass::grad_w)
    return std::make_unique<AmxWindowsGradW>(windows, FilterGradient(conv, false, problem.threads));
  check_z_lies_as_result(request);
  return std::make_unique<AmxWindows>(windows, Convolves::forward(conv, problem.threads), problem.w,
                                      problem.epilogue);
}

Layouts wish(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  if (pass_of(request.node) == ConvPass::grad_w) {
    layouts.in[ConvGradWIn::dy] = Layout::blocks(kBlock);
  } else {
    layouts.out[ConvOut::y] = Layout::blocks(kBlock);
    lay_z_as_result(request, layouts);
  }
  return layouts;
}

}  // namespace

ConvImplementation amx_windows() {
  return {.passes = {ConvPass::forward, ConvPass::grad_w},
          .types = takes<Types<BFloat16>>(),
          .candidate = {"AMX, windows", takes_tiles(refusal), prepare, wish}};
}

}  // namespace lockstep
