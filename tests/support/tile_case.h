// SPDX-License-Identifier: Apache-2.0
// Convolutions of bfloat16 by matrix tiles, for tests of their kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "lockstep/types.h"
#include "operators/cpu.h"
#include "tests/support/convolution_case.h"
#include "tests/support/guarded_memory.h"

namespace lockstep::testing {

constexpr Pass kTilePasses[] = {Pass::forward, Pass::grad_x, Pass::grad_w};

// Returns the pass's candidate with this name, with or without matrix tiles.
inline Candidate tile_candidate(Pass pass, const std::string& name) {
  const std::string types[] = {"FusedConv", "ConvGradX", "ConvGradW"};
  for (const KernelEntry& entry : conv_cpu())
    if (entry.type == types[static_cast<int>(pass)])
      for (const Candidate& candidate : entry.candidates)
        if (candidate.name == name) return candidate;
  throw std::runtime_error("no candidate " + name);
}

// A convolution with rounded operands, run by an AMX candidate.
class TileCase {
 public:
  explicit TileCase(const ConvolutionCase& c, std::string candidate = "AMX")
      : candidate_(std::move(candidate)), case_(c), convolution_(c) {
    for (std::vector<float>* values :
         {&convolution_.x, &convolution_.w, &convolution_.dy, &convolution_.bias, &convolution_.z})
      for (float& value : *values) value = BFloat16(value);
  }

  Convolution& convolution() { return convolution_; }

  // Filters are stored in tiles if pairs of blocks divide their channels.
  KernelRequest request(Pass pass, int threads, bool filters_in_tiles = true) const {
    KernelRequest request = convolution_.request(pass, 16, threads);
    if (pass == Pass::grad_x && case_.addition) request.in.push_back(request.out[0]);
    for (std::vector<TensorDesc>* descs : {&request.in, &request.out})
      for (TensorDesc& desc : *descs)
        if (desc.present()) desc.dtype = DType::bfloat16;
    TensorDesc& w = pass == Pass::grad_w ? request.out[0] : request.in[1];
    const Turned turned = pass == Pass::forward ? Turned::no : Turned::each;
    if (filters_in_tiles && case_.inputs % 32 == 0 && case_.outputs % 32 == 0)
      w.layout = Layout::in({16, turned, pass == Pass::grad_w ? Pairs::none : Pairs::deep});
    return request;
  }

  // Returns the result in row-major order. `in_place`: the result overwrites z. All memory is
  // guarded, and padding must be 0.
  std::vector<float> run(Pass pass, const KernelRequest& request, bool in_place = false) const {
    const Candidate candidate = tile_candidate(pass, candidate_);
    EXPECT_EQ(candidate.refuses(request), "");
    const auto kernel = candidate.prepare(request);
    const Convolution& c = convolution_;
    const std::vector<float>* const operands[3][4] = {
        {&c.x, &c.w, &c.bias, &c.z}, {&c.dy, &c.w, &c.x, nullptr}, {&c.x, &c.dy, nullptr, nullptr}};
    std::deque<GuardedMemory> memory;
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < request.in.size(); ++i) {
      const TensorDesc& desc = request.in[i];
      in.push_back({desc, nullptr});
      if (!desc.present()) continue;
      in.back().data = memory.emplace_back(desc.bytes()).begin();
      const auto values = laid_out(*operands[static_cast<int>(pass)][i], desc);
      std::transform(values.begin(), values.end(), in.back().as<BFloat16>(),
                     [](float value) { return BFloat16(value); });
    }
    const TensorDesc& made = request.out[0];
    const Tensor own{made, memory.emplace_back(made.bytes()).begin()};
    std::fill_n(own.as<BFloat16>(), made.places(), BFloat16(NAN));
    const std::vector<Tensor> out{in_place ? in.back() : own};
    const std::size_t room = kernel->workspace_bytes();
    std::byte* const workspace = memory.emplace_back(room, 64).begin();
    std::fill_n(workspace, room, std::byte{0xFF});
    kernel->run({in, out, workspace, RunContext{}});
    const auto* const first = out[0].as<BFloat16>();
    const std::vector<float> result(first, first + made.places());
    for (const float value : padding_of(result, made)) EXPECT_EQ(value, 0) << text_of(made);
    return row_major(result, made);
  }

  void expect_near(Pass pass, const std::vector<float>& found, const std::string& what) const {
    std::vector<double> exact = convolution_.exact(pass);
    if (pass == Pass::grad_x && case_.addition)
      for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += convolution_.x[i];
    expect_rounded_once(found, exact, join(what, ", pass ", static_cast<int>(pass)));
  }

 private:
  std::string candidate_;
  ConvolutionCase case_;
  Convolution convolution_;
};

}  // namespace lockstep::testing
