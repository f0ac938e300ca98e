// SPDX-License-Identifier: Apache-2.0
// Batch norm's loops for vectors of 16 floats have the bits of the loops for shorter vectors, also
// for NaN, infinity and subnormal numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "lockstep/operators.h"
#include "lockstep/types.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/batch_norm/passes_cpu.h"
#include "tests/support/laid_out.h"
#include "tests/support/threads.h"
#include "tests/support/vectors.h"

namespace lockstep::testing {
namespace {

enum class NormValues { normal, positive, with_no_numbers };

struct NormOperand {
  TensorDesc desc;
  NormValues values = NormValues::normal;
};

struct NormCase {
  std::string type;
  Attributes attributes;
  std::vector<NormOperand> inputs;
  std::vector<TensorDesc> outputs;
};

using NormBytes = std::vector<std::byte>;

NormBytes filled_norm(const NormOperand& operand, unsigned seed) {
  NormBytes memory(operand.desc.bytes());
  const Tensor tensor{operand.desc, memory.data()};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  each_place(operand.desc, [&](int64_t, int64_t i) {
    float value = normal(random);
    if (random() % 11 == 0) value = random() % 2 == 0 ? -0.0F : std::ldexp(value, -130);
    if (operand.values == NormValues::positive) value = std::abs(value) + 0.25F;
    if (operand.values == NormValues::with_no_numbers && random() % 7 == 0)
      value = random() % 2 == 0 ? -std::nanf("") : -INFINITY;  // the processor's own NaN
    if (operand.desc.dtype == DType::bfloat16)
      tensor.as<BFloat16>()[i] = BFloat16(value);
    else
      tensor.as<float>()[i] = value;
  });
  return memory;
}

// Compares bits, so -0 counts as nonzero.
bool all_zeros_in_padding(const TensorDesc& desc, const NormBytes& memory) {
  std::vector<float> bits;
  for (int64_t i = 0; i < desc.places(); ++i)
    bits.push_back(desc.dtype == DType::bfloat16
                       ? static_cast<float>(reinterpret_cast<const uint16_t*>(memory.data())[i])
                       : static_cast<float>(reinterpret_cast<const uint32_t*>(memory.data())[i]));
  const std::vector<float> padding = padding_of(bits, desc);
  return std::ranges::all_of(padding, [](float one) { return one == 0; });
}

class NormRun {
 public:
  explicit NormRun(const NormCase& c) : case_(c) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const TensorDesc& desc = c.inputs[i].desc;
      inputs.push_back(graph_.input(join("in", i), {desc.dtype, to_shape(desc.dims)}));
      given_.push_back(filled_norm(c.inputs[i], static_cast<unsigned>(i)));
    }
    graph_.add({c.type, kOwnDomain, inputs, c.attributes, static_cast<int>(c.outputs.size())}, "y");
    node_.push_back(graph_.node(0));
  }

  std::vector<NormBytes> results(Isa most, int threads) {
    const VectorsAtMost limit(most);
    KernelRequest request{.node = node_[0], .out = case_.outputs, .threads = threads};
    std::vector<Tensor> in, out;
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
      request.in.push_back(case_.inputs[i].desc);
      in.push_back({case_.inputs[i].desc, given_[i].data()});
    }
    request.constants.resize(request.in.size());
    std::vector<NormBytes> made;
    for (const TensorDesc& desc : case_.outputs) made.emplace_back(desc.bytes(), std::byte{0xFF});
    for (std::size_t i = 0; i < made.size(); ++i) out.push_back({case_.outputs[i], made[i].data()});
    const auto kernel = case_.type == "BatchNormGrad" ? prepare_batch_norm_grad(request)
                                                      : prepare_batch_norm(request);
    NormBytes workspace(kernel->workspace_bytes(), std::byte{0xFF});
    kernel->run({in, out, workspace.data(), RunContext{}});
    return made;
  }

 private:
  NormCase case_;
  Graph graph_{all_ops(), "norm"};
  std::vector<Node> node_;
  std::vector<NormBytes> given_;
};

void check_vectors(const NormCase& c, const std::string& what) {
  NormRun run(c);
  const std::vector<NormBytes> expected = run.results(Isa::portable, 1);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(all_zeros_in_padding(c.outputs[i], expected[i])) << what << ", result " << i;
  for (const auto most : {Isa::avx2, Isa::avx512})
    for (const int threads : {1, 3}) {
      const std::vector<NormBytes> found = run.results(most, usable_threads(threads));
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(std::memcmp(expected[i].data(), found[i].data(), expected[i].size()), 0)
            << what << ", result " << i << ", vectors " << static_cast<int>(most) << ", " << threads
            << " threads";
    }
}

class BatchNormVectors : public ::testing::TestWithParam<DType> {
 protected:
  // Fewer pixels than a vectorised run, several runs, and enough pixels for threads to share an
  // image's blocks. The last two have padding.
  const std::vector<Dims> shapes_{{3, 32, 7, 5},   {2, 16, 1, 1},   {2, 48, 19, 31},
                                  {3, 16, 41, 40}, {3, 24, 19, 31}, {2, 17, 1, 1}};
  static TensorDesc blocked(const Dims& dims) { return {GetParam(), dims, Layout::blocks(16)}; }
  static TensorDesc by_channel(const Dims& dims) { return {DType::float32, {dims[1]}}; }
};

const std::vector<Attributes> kNormEndings{{},
                                           {{"relu", int64_t{1}}},
                                           {{"low", -0.375F}, {"high", 0.625F}},
                                           {{"low", 0.25F}, {"high", 0.625F}}};

TEST_P(BatchNormVectors, HaveTheSameBitsForward) {
  for (const Dims& dims : shapes_)
    for (const Attributes& ending : kNormEndings)
      for (const char* type : {"BatchNormTrain", "FusedBatchNorm"})
        for (const bool added : {false, true}) {
          if (added && ending.size() == 2) continue;  // a Clip adds nothing
          const TensorDesc x = blocked(dims), c = by_channel(dims);
          const bool trains = type == std::string("BatchNormTrain");
          NormCase one{type, ending, {{x}, {c}, {c}, {c}, {c, NormValues::positive}}, {x}};
          if (added) one.inputs.push_back({x, NormValues::with_no_numbers});
          if (trains) one.outputs.resize(5, c);
          if (!trains) one.inputs[0].values = NormValues::with_no_numbers;
          check_vectors(one, join(type, " ", text_of(dims), added ? ", added" : "", ", attributes ",
                                  ending.size()));
        }
}

TEST_P(BatchNormVectors, HaveTheSameBitsBackward) {
  for (const Dims& dims : shapes_)
    for (const Attributes& ending : kNormEndings)
      for (const bool added : {false, true})
        for (const bool given : {false, true})
          for (const bool passes_on : {false, true}) {
            if (added && ending.size() != 1) continue;  // only ReLU reads y
            if (passes_on && ending.empty()) continue;  // all of dy passes
            const TensorDesc x = blocked(dims), c = by_channel(dims);
            NormCase one{"BatchNormGrad",
                         ending,
                         {{x}, {x}, {c}, {c}, {c, NormValues::positive}, {c}},
                         {x, c, c}};
            one.attributes.push_back({"given", int64_t{given}});
            if (added) one.attributes.push_back({"added", int64_t{1}});
            if (ending.size() == 1) one.inputs.push_back({x, NormValues::with_no_numbers});
            if (given) one.inputs[0].values = NormValues::with_no_numbers;
            if (passes_on) one.outputs.push_back(x);
            check_vectors(one,
                          join(text_of(dims), added ? ", added" : "", given ? ", given" : "",
                               passes_on ? ", passes on" : "", ", attributes ", ending.size()));
          }
}

INSTANTIATE_TEST_SUITE_P(Types, BatchNormVectors,
                         ::testing::Values(DType::float32, DType::bfloat16));

}  // namespace
}  // namespace lockstep::testing
