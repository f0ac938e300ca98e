// SPDX-License-Identifier: Apache-2.0
// Compares CPU kernels that read and write bfloat16 with the kernels in float32, on the same
// rounded operands. If both do the same arithmetic, the results are equal to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/operators.h"
#include "lockstep/types.h"
#include "operators/batch_norm/passes_cpu.h"
#include "operators/cpu.h"
#include "tests/support/laid_out.h"
#include "tests/support/threads.h"
#include "tests/support/vectors.h"

namespace lockstep::testing {
namespace {

struct Operand {
  Dims dims;
  DType type = DType::bfloat16;
};

enum class Same { bits, numbers };

struct Case {
  std::string type, domain;
  std::vector<Operand> inputs;
  Attributes attributes = {};
  std::vector<std::size_t> blocked_in{0}, blocked_out{0};  // laid out in channel blocks
  Same same = Same::bits;
  int outputs = 1;
};

using Values = std::vector<std::vector<float>>;

class Run {
 public:
  explicit Run(const Case& c) : case_(c) {
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
      inputs.push_back(graph_.input(join("x", i), {c.inputs[i].type, to_shape(c.inputs[i].dims)}));
    graph_.add({c.type, c.domain, inputs, c.attributes, c.outputs}, "y");
    node_.push_back(graph_.node(0));
  }

  KernelRequest request(int block, int threads) const {
    KernelRequest request{.node = node_[0], .threads = threads};
    for (const Value input : node_[0].inputs())
      request.in.push_back({graph_.dtype(input), to_dims(graph_.shape(input))});
    for (const Value output : node_[0].outputs())
      request.out.push_back({graph_.dtype(output), to_dims(graph_.shape(output))});
    for (const std::size_t i : case_.blocked_in) request.in[i].layout = Layout::blocks(block);
    for (const std::size_t i : case_.blocked_out) request.out[i].layout = Layout::blocks(block);
    request.constants.resize(request.in.size());
    return request;
  }

  // Returns all results in row-major order.
  Values run(const Candidate& candidate, const KernelRequest& request) const {
    const std::unique_ptr<Kernel> kernel = candidate.prepare(request);
    std::vector<std::vector<std::byte>> memory;
    const auto room_for = [&](const TensorDesc& desc) {
      return Tensor{desc, memory.emplace_back(desc.bytes(), std::byte{0xFF}).data()};
    };
    std::vector<Tensor> in, out;
    for (std::size_t i = 0; i < request.in.size(); ++i) {
      in.push_back(room_for(request.in[i]));
      fill(in.back(), static_cast<unsigned>(i));
    }
    for (const TensorDesc& desc : request.out) out.push_back(room_for(desc));
    std::vector<std::byte> workspace(kernel->workspace_bytes(), std::byte{0xFF});
    kernel->run({in, out, workspace.data(), RunContext{}});
    Values results;
    for (const Tensor& tensor : out) results.push_back(read(tensor));
    return results;
  }

 private:
  // Variances are positive, as are all other float32 operands.
  static void fill(const Tensor& tensor, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(tensor.count()));
    for (float& value : values) value = static_cast<float>(BFloat16(normal(random)));
    if (tensor.desc.dtype == DType::float32) {
      for (std::size_t i = 0; i < values.size(); ++i)
        tensor.as<float>()[i] = std::abs(values[i]) + 0.25F;
      return;
    }
    const std::vector<float> there = laid_out(values, tensor.desc);
    for (std::size_t i = 0; i < there.size(); ++i) tensor.as<BFloat16>()[i] = BFloat16(there[i]);
  }
  static std::vector<float> read(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.desc.places()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = tensor.desc.dtype == DType::float32
                      ? tensor.as<float>()[i]
                      : static_cast<float>(tensor.as<BFloat16>()[i]);
    for (const float padding : padding_of(values, tensor.desc)) EXPECT_EQ(padding, 0);
    return row_major(values, tensor.desc);
  }

  Case case_;
  Graph graph_{all_ops(), "one"};
  std::vector<Node> node_;
};

const std::vector<Candidate>& candidates_of(const Case& c) {
  static const std::vector<KernelEntry> all = cpu_kernel_entries();
  for (const KernelEntry& entry : all)
    if (entry.type == c.type && entry.domain == c.domain) return entry.candidates;
  throw std::runtime_error(c.type);
}

bool is_widened(const Candidate& candidate) {
  return candidate.name.find(" in float32") != std::string::npos;
}

bool takes_request(const Candidate& candidate, const KernelRequest& request) {
  if (candidate.refuses && !candidate.refuses(request).empty()) return false;
  try {
    candidate.prepare(request);
  } catch (const Unsupported&) {  // unsupported layouts: plans take the next candidate
    return false;
  }
  return true;
}

// Null if all candidates refuse.
const Candidate* taker(const Case& c, const KernelRequest& request, bool widened) {
  for (const Candidate& candidate : candidates_of(c))
    if (is_widened(candidate) == widened && takes_request(candidate, request)) return &candidate;
  return nullptr;
}

// Rounding the result once costs 2^-9. Another order of oneDNN's sums costs less.
void expect_same(const Values& expected, const Values& found, Same same, const std::string& what) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].size(), found[i].size());
    float most = 0;
    for (const float value : expected[i]) most = std::max(most, std::abs(value));
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      if (same == Same::bits)
        ASSERT_EQ(std::bit_cast<uint32_t>(expected[i][k]), std::bit_cast<uint32_t>(found[i][k]))
            << what << ", result " << i << ", element " << k << ": " << expected[i][k] << " and "
            << found[i][k];
      else
        ASSERT_NEAR(expected[i][k], found[i][k], most * 0x1p-8F)
            << what << ", result " << i << ", element " << k;
    }
  }
}

void check(const Case& c, const std::vector<int>& blocks) {
  const Run one(c);
  for (const int block : blocks)
    for (const int threads : {1, 3}) {
      const KernelRequest request = one.request(block, usable_threads(threads));
      const std::string what = join(c.type, ", blocks of ", block, ", ", threads, " threads");
      const Candidate *native = taker(c, request, false), *wide = taker(c, request, true);
      ASSERT_TRUE(wide) << what;
      if (!native) {
        ASSERT_EQ(c.same, Same::numbers) << what << ": every processor has this kernel";
        GTEST_SKIP() << "skipped: this processor has no AVX512-BF16, which multiplies bfloat16";
      }
      const Values found = one.run(*native, request);
      expect_same(one.run(*wide, request), found, c.same, what);
      if (c.same != Same::bits) continue;
      for (const Candidate* candidate : {native, wide})
        for (const auto most : {Isa::portable, Isa::avx2}) {
          const VectorsAtMost limit(most);
          expect_same(found, one.run(*candidate, request), Same::bits,
                      join(what, ", narrower vectors"));
        }
    }
}

const Dims kImages{3, 32, 7, 5}, kOdd{3, 21, 7, 5};  // no block divides 21 channels
constexpr DType kFloat = DType::float32;

TEST(BFloat16, ElementwiseKernelsRoundOnce) {
  for (const char* type : {"Add", "Sub", "Mul", "Div"})
    check({type, "", {{kImages}, {kImages}}, {}, {0, 1}}, {1, 8, 16});
  check({"Sum", "", {{kImages}, {kImages}, {kImages}}, {}, {0, 1, 2}}, {1, 8, 16});
  check({"Mean", "", {{kImages}, {kImages}, {kImages}}, {}, {0, 1, 2}}, {1});
  check({"Max", "", {{kImages}, {kImages}}, {}, {0, 1}}, {1});
  check({"Add", "", {{kImages}, {{32, 1, 1}}}, {}}, {1});
  for (const char* type : {"Add", "Sub", "Mul"})
    check({type, "", {{kOdd}, {kOdd}}, {}, {0, 1}}, {1, 8, 16});
  check({"Sum", "", {{kOdd}, {kOdd}, {kOdd}}, {}, {0, 1, 2}}, {1, 8, 16});
  check({"Clip", "", {{kImages}, {{}}, {{}}}, {}}, {1, 8, 16});
  check({"Clip", "", {{kOdd}, {{}}, {{}}}, {}}, {1, 8, 16});
  check({"ClipGrad", kOwnDomain, {{kOdd}, {kOdd}, {{}}, {{}}}, {}, {0, 1}}, {1, 8, 16});
  check({"ClipGrad", kOwnDomain, {{kImages}, {kImages}, {{}}, {{}}}, {}, {0, 1}}, {1, 8, 16});
}

TEST(BFloat16, ActivationsRoundOnce) {
  for (const char* type : {"Relu", "Sigmoid", "Tanh"})
    check({type, "", {{kImages}}, {}}, {1, 8, 16});
  check({"Relu", "", {{kOdd}}, {}}, {1, 8, 16});
  check({"ReluGrad", kOwnDomain, {{kOdd}, {kOdd}}, {}, {0, 1}}, {1, 8, 16});
  for (const char* type : {"ReluGrad", "SigmoidGrad", "TanhGrad"})
    check({type, kOwnDomain, {{kImages}, {kImages}}, {}, {0, 1}}, {1, 8, 16});
}

TEST(BFloat16, BatchNormsRoundOnce) {
  const Operand numbers_of_whole_blocks{{32}, kFloat}, numbers_of_odd{{kOdd[1]}, kFloat};
  for (const Dims& x : {kImages, Dims{2, 32, 1, 1}, Dims{4, 32, 16, 16}, kOdd}) {
    const Operand numbers = x == kOdd ? numbers_of_odd : numbers_of_whole_blocks;
    const Case forward{.type = "BatchNormTrain",
                       .domain = kOwnDomain,
                       .inputs = {{x}, numbers, numbers, numbers, numbers},
                       .outputs = 5};
    check(forward, {1, 8, 16});
    const Case backward{.type = "BatchNormGrad",
                        .domain = kOwnDomain,
                        .inputs = {{x}, {x}, numbers, numbers, numbers},
                        .blocked_in = {0, 1},
                        .outputs = 3};
    check(backward, {1, 8, 16});
  }
  const Operand numbers = numbers_of_whole_blocks;
  check({"BatchNormalization", "", {{kImages}, numbers, numbers, numbers, numbers}, {}},
        {1, 8, 16});
}

// A Clip's gradient passes if the rounded value is within the bounds.
TEST(BFloat16, BoundsHoldForWhatIsStored) {
  const auto stored = [](float value) { return static_cast<float>(BFloat16(value)); };
  for (const float given : {0.0F, -0.0F, 6.0F, 0.6F, -1.5F, 1e-38F, 0.9F, 1e30F}) {
    const float bound = stored(given);
    const float most = most_stored_below<BFloat16>(bound),
                least = least_stored_above<BFloat16>(bound);
    EXPECT_LE(stored(most), bound);
    EXPECT_GT(stored(std::nextafter(most, INFINITY)), bound) << bound;
    EXPECT_GE(stored(least), bound);
    EXPECT_LT(stored(std::nextafter(least, -INFINITY)), bound) << bound;
    EXPECT_EQ(most_stored_below<float>(bound), bound);
  }
  EXPECT_EQ(most_stored_below<BFloat16>(INFINITY), INFINITY);
  EXPECT_EQ(least_stored_above<BFloat16>(-INFINITY), -INFINITY);
}

const Attributes kSameSize{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};

TEST(BFloat16, ConvolutionsAddUpInFloat32) {
  const auto with = [](Attributes::value_type own) {
    Attributes all = kSameSize;
    all.push_back(std::move(own));
    return all;
  };
  const Operand w{{48, 32, 3, 3}}, y{{3, 48, 7, 5}};
  check({"Conv", "", {{kImages}, w}, kSameSize, {0}, {0}, Same::numbers}, {1, 16});
  check({"Conv", "", {{kImages}, w, {{48}}}, kSameSize, {0}, {0}, Same::numbers}, {1, 16});
  check({"ConvGradX",
         kOwnDomain,
         {y, w},
         with({"x_shape", std::vector<int64_t>{7, 5}}),
         {0},
         {0},
         Same::numbers},
        {1, 16});
  check({"ConvGradW",
         kOwnDomain,
         {{kImages}, y},
         with({"kernel_shape", std::vector<int64_t>{3, 3}}),
         {0, 1},
         {},
         Same::numbers},
        {1, 16});
}

TEST(BFloat16, PoolsByDnnl) {
  const Attributes windows{{"kernel_shape", std::vector<int64_t>{3, 3}},
                           {"strides", std::vector<int64_t>{2, 2}},
                           {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  check({"MaxPool", "", {{kImages}}, windows, {0}, {0}, Same::numbers}, {1, 16});
  check({"AveragePool", "", {{kImages}}, windows, {0}, {0}, Same::numbers}, {1, 16});
  check({"GlobalAveragePool", "", {{kImages}}, {}, {0}, {}, Same::numbers}, {1, 16});
}

TEST(BFloat16, ProductsAddUpInFloat32) {
  for (const int64_t a : {0, 1})
    for (const int64_t b : {0, 1}) {
      const Attributes sides{{"transA", a}, {"transB", b}};
      const Operand left{a ? Dims{70, 9} : Dims{9, 70}}, right{b ? Dims{33, 70} : Dims{70, 33}};
      check({"Gemm", "", {left, right}, sides, {}, {}, Same::numbers}, {1});
      check({"Gemm", "", {left, right, {{33}}}, sides, {}, {}, Same::numbers}, {1});
    }
  check({"MatMul", "", {{{2, 9, 70}}, {{70, 33}}}, {}, {}, {}, Same::numbers}, {1});
}

}  // namespace
}  // namespace lockstep::testing
