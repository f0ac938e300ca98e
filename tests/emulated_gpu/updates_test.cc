// SPDX-License-Identifier: Apache-2.0
// Compares a GPU's update of many parameters, with gradients and copies of 16 bits in any layout,
// with the CPU's update.
#include <gtest/gtest.h>

#include <random>

#include "lockstep/operators.h"
#include "tests/emulated_gpu/node_run.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

// Filters with one tap and with many taps, more elements than a block, a vector, an empty tensor.
// `copies`: the first parameter and the last but one have one copy.
const std::vector<Dims> kParams{{3, 4, 2, 2}, {8, 5, 3, 3}, {40, 32, 2, 2}, {16, 24, 1, 1},
                                {2, 3, 5},    {33},         {0, 4, 3, 3},   {7, 9}};
const std::vector<int64_t> kCopies{1, 2, 3, 4, 5, 6};

struct Kind {
  DType gradient, copy;
  bool last;
  int64_t unless;
};

Literal widened(const Literal& literal) {
  return of_doubles(to_doubles(literal).values, literal.dims(), DType::float32);
}

class Updates {
 public:
  explicit Updates(const Kind& kind) : kind_(kind) {
    const auto inputs = [&](const char* what, DType type) {
      for (const Dims& dims : kParams) input(join(what, in_.size()), {type, to_shape(dims)});
    };
    inputs("slot", DType::float32);
    inputs("param", DType::float32);
    in_.resize(in_.size() + kCopies.size());
    inputs("gradient", kind.gradient);
    for (const char* number : {"rate", "correction"}) input(number, {DType::float32, {1}});
    input("unless", {DType::int64, {1}});
    std::vector<float> factors, decays;
    for (std::size_t k = 0; k < kParams.size(); ++k) {
      factors.push_back(1 + static_cast<float>(k));
      decays.push_back(0.01F * static_cast<float>(k));
    }
    graph_.add({.type = "MomentumSGDUpdates",
                .domain = kOwnDomain,
                .inputs = in_,
                .attributes = {{"momentum", 0.9F},
                               {"nesterov", int64_t{1}},
                               {"factors", factors},
                               {"decays", decays},
                               {"copies", kCopies},
                               {"copies_to", static_cast<int64_t>(kind.copy)}},
                .outputs = static_cast<int>(2 * kParams.size() + kCopies.size())},
               "update");
  }

  Node node() const { return graph_.node(0); }
  // Gradients and copies of filters are channels-last; all other tensors are row-major.
  Layouts layouts() const {
    Layouts made{std::vector<Layout>(node().inputs().size()),
                 std::vector<Layout>(node().outputs().size())};
    if (!kind_.last) return made;
    const auto last = [](const Dims& dims) {
      return dims.size() == 4 && dims[0] > 0 ? Layout::channels_last(dims[1]) : Layout();
    };
    for (std::size_t k = 0; k < kParams.size(); ++k)
      made.in[2 * kParams.size() + kCopies.size() + k] = last(kParams[k]);
    for (std::size_t c = 0; c < kCopies.size(); ++c)
      made.out[2 * kParams.size() + c] = last(kParams[static_cast<std::size_t>(kCopies[c])]);
    return made;
  }
  std::vector<Literal> operands() const {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<Literal> all;
    for (const Value value : in_) {
      if (!value) {
        all.emplace_back(DType::float32, Dims{});
        continue;
      }
      const Dims dims = to_dims(graph_.shape(value));
      std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
      for (float& x : values) x = normal(random);
      all.push_back(graph_.dtype(value) == DType::int64
                        ? Literal::of<int64_t>({{kind_.unless}}, {1})
                        : numbers(graph_.dtype(value), dims, values));
    }
    return all;
  }

 private:
  void input(const std::string& name, const TensorType& type) {
    in_.push_back(graph_.input(name, type));
  }

  const Kind kind_;
  Graph graph_{all_ops(), "updates"};
  std::vector<Value> in_;
};

TEST(EmulatedUpdates, WriteCopiesWithTheBitsOfTheCpu) {
  for (const DType copy : {DType::bfloat16, DType::float16})
    for (const DType gradient : {DType::float32, copy})
      for (const bool last : {false, true})
        for (const int64_t unless : {-1, 3}) {
          SCOPED_TRACE(join(gradient, " to ", copy, last ? ", channels last" : ", row-major",
                            unless < 0 ? "" : ", skipped"));
          const Kind kind{gradient, copy, last, unless};
          const Updates updates(kind), of_cpu({DType::float32, copy, false, unless});
          const std::vector<Literal> operands = updates.operands();
          std::vector<Literal> wide;
          for (const Literal& operand : operands)
            wide.push_back(operand.dtype() == copy ? widened(operand) : operand);
          const auto found =
              NodeRun{.layouts = updates.layouts()}.results(updates.node(), operands);
          const auto expected =
              NodeRun{.kind = DeviceKind::cpu, .channels_last = false}.results(of_cpu.node(), wide);
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t i = 0; i < found.size(); ++i)
            EXPECT_TRUE(found[i] == expected[i]) << "result " << i;
        }
}

}  // namespace
}  // namespace lockstep::testing
