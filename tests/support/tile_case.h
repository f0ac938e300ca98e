// Convolutions of bfloat16 by matrix tiles, for tests of their kernels.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "graph/half.h"
#include "operators/cpu.h"
#include "tests/support/convolution_case.h"

namespace lockstep::testing {

constexpr Pass kTilePasses[] = {Pass::forward, Pass::grad_x, Pass::grad_w};

// A pass's candidate of that name.
inline Candidate tile_candidate(Pass pass, const std::string& name) {
  const std::string types[] = {"FusedConv", "ConvGradX", "ConvGradW"};
  for (const KernelEntry& entry : conv_cpu())
    if (entry.type == types[static_cast<int>(pass)])
      for (const Candidate& candidate : entry.candidates)
        if (candidate.name == name) return candidate;
  throw std::runtime_error("no candidate " + name);
}

// A convolution whose operands are rounded, by one of AMX's candidates.
class TileCase {
 public:
  explicit TileCase(const ConvolutionCase& c, std::string candidate = "AMX")
      : candidate_(std::move(candidate)), case_(c), convolution_(c) {
    for (std::vector<float>* values :
         {&convolution_.x, &convolution_.w, &convolution_.dy, &convolution_.bias, &convolution_.z})
      for (float& value : *values) value = BFloat16(value);
  }

  Convolution& convolution() { return convolution_; }

  KernelRequest request(Pass pass, int threads, bool filters_in_tiles = true) const {
    KernelRequest request = convolution_.request(pass, 16, threads);
    if (pass == Pass::grad_x && case_.addition) request.in.push_back(request.out[0]);
    for (std::vector<TensorDesc>* descs : {&request.in, &request.out})
      for (TensorDesc& desc : *descs)
        if (desc.present()) desc.dtype = DType::bfloat16;
    TensorDesc& w = pass == Pass::grad_w ? request.out[0] : request.in[1];
    const Turned turned = pass == Pass::forward ? Turned::no : Turned::each;
    if (filters_in_tiles)
      w.channel_block = layout_of({16, turned, pass == Pass::grad_w ? Pairs::none : Pairs::deep});
    return request;
  }

  // Row-major. `in_place`: the result lies over z.
  std::vector<float> run(Pass pass, const KernelRequest& request, bool in_place = false) const {
    const Candidate candidate = tile_candidate(pass, candidate_);
    EXPECT_EQ(candidate.refuses(request), "");
    const auto kernel = candidate.prepare(request);
    const Convolution& c = convolution_;
    const std::vector<float>* const operands[3][4] = {
        {&c.x, &c.w, &c.bias, &c.z}, {&c.dy, &c.w, &c.x, nullptr}, {&c.x, &c.dy, nullptr, nullptr}};
    std::vector<std::vector<BFloat16>> buffers;
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < request.in.size(); ++i) {
      buffers.push_back(request.in[i].present()
                            ? rounded(laid_out(*operands[static_cast<int>(pass)][i], request.in[i]))
                            : std::vector<BFloat16>{});
      in.push_back({request.in[i], buffers.back().data()});
    }
    std::vector<BFloat16> own(static_cast<std::size_t>(request.out[0].count()), BFloat16(NAN));
    std::vector<BFloat16>& result = in_place ? buffers.back() : own;
    const std::vector<Tensor> out{{request.out[0], result.data()}};
    std::vector<std::byte> workspace(kernel->workspace_bytes() + 64, std::byte{0xFF});
    void* begin = workspace.data();
    std::size_t room = workspace.size();
    std::align(64, kernel->workspace_bytes(), begin, room);
    kernel->run({in, out, static_cast<std::byte*>(begin), RunContext{}});
    return row_major({result.begin(), result.end()}, request.out[0]);
  }

  void expect_near(Pass pass, const std::vector<float>& found, const std::string& what) const {
    std::vector<double> exact = convolution_.exact(pass);
    if (pass == Pass::grad_x && case_.addition)
      for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += convolution_.x[i];
    expect_rounded_once(found, exact, join(what, ", pass ", static_cast<int>(pass)));
  }

 private:
  static std::vector<BFloat16> rounded(const std::vector<float>& values) {
    std::vector<BFloat16> result;
    for (const float value : values) result.emplace_back(value);
    return result;
  }

  std::string candidate_;
  ConvolutionCase case_;
  Convolution convolution_;
};

}  // namespace lockstep::testing
