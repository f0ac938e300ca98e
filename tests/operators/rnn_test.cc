// SPDX-License-Identifier: Apache-2.0
// Recurrent operators: ONNX's operators, and the training forms, which set every attribute.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/gradient.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"
#include "operators/rnn/activations_cpu.h"
#include "operators/rnn/recurrence.h"
#include "operators/rnn/rnn.h"
#include "tests/operators/rnn_reference.h"
#include "tests/support/any_threads.h"
#include "tests/support/expect_error.h"
#include "tests/support/vectors.h"

namespace lockstep::testing {
namespace {

using Texts = std::vector<std::string>;

CaseInput lengths_of(std::vector<int32_t> each) {
  const auto count = static_cast<int64_t>(each.size());
  return given(Literal::of<int32_t>(each, {count}));
}

struct RecurrentSize {
  int64_t steps = 4, batch = 3, inputs = 3, hidden = 5;
};

// A case of one cell with all of its operands except lengths.
OpCase recurrent_case(const std::string& name, const NaiveRecurrence& how,
                      const RecurrentSize& size = {}) {
  const auto [T, N, I, H] = size;
  const int64_t D = how.direction == "bidirectional" ? 2 : 1;
  const int64_t G = how.cell == "RNN" ? 1 : how.cell == "GRU" ? 3 : 4;
  const bool lstm = how.cell == "LSTM", first = how.batch_first;
  const Dims state = first ? Dims{N, D, H} : Dims{D, N, H};
  OpCase c{.name = name, .type = how.cell, .attributes = {{"hidden_size", H}}};
  c.inputs = {random(first ? Dims{N, T, I} : Dims{T, N, I}, 1),
              random({D, G * H, I}, 2),
              random({D, G * H, H}, 3),
              random({D, 2 * G * H}, 4),
              left_out(),
              random(state, 5)};
  if (lstm) c.inputs.insert(c.inputs.end(), {random(state, 6), random({D, 3 * H}, 7)});
  c.outputs = lstm ? 3 : 2;
  if (D == 2 || how.direction == "reverse") c.attributes.push_back({"direction", how.direction});
  if (first) c.attributes.push_back({"layout", int64_t{1}});
  if (std::isfinite(how.clip)) c.attributes.push_back({"clip", static_cast<float>(how.clip)});
  if (how.input_forget) c.attributes.push_back({"input_forget", int64_t{1}});
  if (how.linear_before_reset) c.attributes.push_back({"linear_before_reset", int64_t{1}});
  c.reference = naive_recurrence(how);
  c.tolerance = 1e-5;
  c.oracle = !first;  // ONNX Runtime lacks this layout
  return c;
}

OpCase with_lengths(OpCase c, std::vector<int32_t> each) {
  c.inputs[4] = lengths_of(std::move(each));
  c.name += "_lengths";
  return c;
}

OpCase without(OpCase c, std::vector<std::size_t> operands) {
  for (std::size_t i : operands)
    if (i < c.inputs.size()) c.inputs[i] = left_out();
  c.name += "_bare";
  return c;
}

// The training form of the case.
OpCase training_form(OpCase c) {
  const Cell cell = cell_of(c.type);
  c.loss_outputs = c.outputs;
  c.outputs = static_cast<int>(trained_results_of(cell));
  c.type += "Train";
  c.domain = kOwnDomain;
  c.oracle = false;
  return c;
}

std::vector<OpCase> usual_cases() {
  std::vector<OpCase> all;
  for (const std::string cell : {"RNN", "GRU", "LSTM"})
    for (const std::string direction : {"forward", "reverse", "bidirectional"})
      for (bool batch_first : {false, true}) {
        const NaiveRecurrence how{.cell = cell, .direction = direction, .batch_first = batch_first};
        const std::string name = direction + (batch_first ? "_batch_first" : "");
        const OpCase c = recurrent_case(name, how);
        all.push_back(c);
        all.push_back(with_lengths(c, {4, 1, 3}));
        all.push_back(training_form(with_lengths(without(c, {3, 5, 6, 7}), {2, 4, 1})));
        all.push_back(training_form(without(c, {5, 7})));
      }
  return all;
}

std::vector<OpCase> option_cases() {
  std::vector<OpCase> all;
  for (const std::string direction : {"forward", "bidirectional"})
    for (bool batch_first : {false, true}) {
      const std::string name = direction + (batch_first ? "_batch_first" : "");
      const OpCase reset =
          recurrent_case("linear_before_reset_" + name, {.cell = "GRU",
                                                         .direction = direction,
                                                         .batch_first = batch_first,
                                                         .linear_before_reset = true});
      all.insert(all.end(),
                 {reset, with_lengths(reset, {1, 4, 2}), training_form(without(reset, {3}))});
      all.push_back(recurrent_case("input_forget_" + name, {.cell = "LSTM",
                                                            .direction = direction,
                                                            .batch_first = batch_first,
                                                            .input_forget = true}));
    }
  for (const std::string cell : {"RNN", "GRU", "LSTM"}) {
    OpCase c = recurrent_case("clip", {.cell = cell, .clip = 0.75});
    c.gradient = false;  // some of the many sums are at the limit, where no slope exists
    all.push_back(c);
    for (double clip : {0.2, 0.45})
      all.push_back(training_form(
          recurrent_case(join("clip_", clip), {.cell = cell, .clip = clip}, {2, 1, 2, 2})));
  }
  return all;
}

// Odd and empty sizes; a hidden size of several pieces of a vector.
std::vector<OpCase> sized_cases() {
  std::vector<OpCase> all;
  const std::pair<const char*, RecurrentSize> sizes[] = {
      {"ones", {1, 1, 1, 1}}, {"wide", {2, 2, 2, 67}},      {"no_input", {2, 2, 0, 3}},
      {"long", {9, 1, 2, 2}}, {"no_example", {2, 0, 2, 3}}, {"no_step", {0, 2, 2, 3}}};
  for (const std::string cell : {"RNN", "GRU", "LSTM"})
    for (const auto& [name, size] : sizes) {
      OpCase c = recurrent_case(name, {.cell = cell, .direction = "bidirectional"}, size);
      c.oracle = size.steps > 0 && size.batch > 0 && size.inputs > 0;
      all.push_back(c);
    }
  OpCase empty = with_lengths(recurrent_case("some_empty", {.cell = "LSTM"}), {0, 4, 0});
  empty.oracle = false;  // ONNX leaves the last state of an empty sequence undefined
  all.push_back(empty);
  return all;
}

// f with the activation's name and its parameters.
struct Named {
  const char* name;
  Curve curve;
  std::vector<float> alphas = {}, betas = {};
};
const Named kActivations[] = {
    {"Affine", [](double x) { return 0.7 * x + 0.2; }, {0.7F}, {0.2F}},
    {"Elu", [](double x) { return x < 0 ? 0.8 * std::expm1(x) : x; }, {0.8F}},
    {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
    {"LeakyRelu", [](double x) { return x < 0 ? 0.1 * x : x; }, {0.1F}},
    {"relu", [](double x) { return std::max(x, 0.0); }},
    {"ScaledTanh", [](double x) { return 0.9 * std::tanh(0.5 * x); }, {0.9F}, {0.5F}},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"ThresholdedRelu", [](double x) { return x > -3 ? x : 0; }, {-3.0F}},
};

std::vector<OpCase> activation_cases() {
  std::vector<OpCase> all;
  const Curve sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Curve tanh = [](double x) { return std::tanh(x); };
  for (const Named& f : kActivations) {
    const auto add = [&](NaiveRecurrence how, const std::string& names, std::size_t times) {
      OpCase c = training_form(recurrent_case(f.name, how, {2, 2, 2, 3}));
      c.attributes.push_back({"activations", names});
      const auto repeated = [&](const std::vector<float>& once) {
        std::vector<float> numbers;
        for (std::size_t i = 0; i < times; ++i)
          numbers.insert(numbers.end(), once.begin(), once.end());
        return numbers;
      };
      if (!f.alphas.empty()) c.attributes.push_back({"activation_alpha", repeated(f.alphas)});
      if (!f.betas.empty()) c.attributes.push_back({"activation_beta", repeated(f.betas)});
      all.push_back(c);
    };
    const std::string name = f.name;
    add({.cell = "RNN", .curves = {f.curve}}, name, 1);
    add({.cell = "GRU", .curves = {sigmoid, f.curve}}, "Sigmoid," + name, 1);
    add({.cell = "LSTM",
         .direction = "bidirectional",
         .curves = {sigmoid, f.curve, tanh, sigmoid, tanh, f.curve}},
        "Sigmoid," + name + ",Tanh,Sigmoid,Tanh," + name, 2);
  }
  return all;
}

class Recurrent : public ::testing::TestWithParam<OpCase> {};
TEST_P(Recurrent, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(UsualTable, Recurrent, ::testing::ValuesIn(usual_cases()));
INSTANTIATE_TEST_SUITE_P(OptionTable, Recurrent, ::testing::ValuesIn(option_cases()));
INSTANTIATE_TEST_SUITE_P(SizeTable, Recurrent, ::testing::ValuesIn(sized_cases()));
INSTANTIATE_TEST_SUITE_P(ActivationTable, Recurrent, ::testing::ValuesIn(activation_cases()));

TEST(Recurrent, ThreadsChangeNoBit) {
  for (const char* type : {"RNNTrain", "GRUTrain", "LSTMTrain"}) {
    const std::string cell = std::string(type).substr(0, std::string(type).size() - 5);
    OpCase c = training_form(with_lengths(
        recurrent_case("threads", {.cell = cell, .direction = "bidirectional"}, {7, 9, 33, 67}),
        {7, 3, 5, 1, 7, 2, 6, 4, 7}));
    expect_same_bits_on_any_threads(c);
  }
}

TEST(Recurrent, VectorsChangeNoBit) {
  std::vector<float> x{0, -0.0F, INFINITY, -INFINITY, NAN, 1e-30F};
  for (float at = -100; at < 100; at += 0.003F) x.push_back(at);
  const auto count = static_cast<int64_t>(x.size());
  for (const auto kind : {ActivationKind::sigmoid, ActivationKind::tanh, ActivationKind::softsign})
    for (const float clip : {INFINITY, 2.5F}) {
      const RecurrentActivation f{.kind = kind, .clip = clip};
      std::vector<std::vector<uint32_t>> made;
      for (const auto most : {Isa::portable, Isa::avx2, Isa::avx512}) {
        const VectorsAtMost limit(most);
        std::vector<float> all(3 * x.size());
        activate(f, x.data(), all.data(), count);
        activate(f, x.data(), all.data() + count, all.data() + 2 * count, count);
        EXPECT_TRUE(std::isnan(all[4]) && std::isnan(all[2 * x.size() + 4]));
        std::vector<uint32_t>& bits = made.emplace_back();
        for (const float value : all) bits.push_back(std::bit_cast<uint32_t>(value));
        EXPECT_EQ(bits, made[0]) << "kind " << static_cast<int>(kind) << ", clip " << clip;
      }
    }
}

// Only requested gradients are computed.
TEST(Recurrent, UnwantedGradientsAreOmitted) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {3, "N", 2}});
  const Value w = graph.input("w", {DType::float32, {1, 16, 2}});
  const Value r = graph.input("r", {DType::float32, {1, 16, 4}});
  const RecurrentResults made =
      recurrent(graph, Cell::lstm, {.x = x, .w = w, .r = r}, {}, true, "lstm");
  EXPECT_EQ(text_of(graph.shape(made.y)), "[3,1,N,4]");
  EXPECT_EQ(text_of(graph.shape(made.last_c)), "[1,N,4]");
  add_gradients(graph, {{reduce_sum(graph, made.last_h, {}, false)}}, {r});
  int found = 0;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.type() != "LSTMGrad") continue;
    ++found;
    for (std::size_t k = 0; k < node.outputs().size(); ++k)
      EXPECT_EQ(bool(node.outputs()[k]), k == RecurrentGradOut::dr) << k;
  }
  EXPECT_EQ(found, 1);
}

struct Refused {
  std::string cell;
  std::function<void(OpCase&)> spoil;
  std::string why;
};

// Errors of operands that a file may contain.
TEST(RecurrentErrors, AreNamed) {
  const auto operand = [](std::size_t i, CaseInput input) {
    return [=](OpCase& c) { c.inputs.at(i) = input; };
  };
  const auto attribute = [](const std::string& name, AttributeValue value) {
    return [=](OpCase& c) {
      std::erase_if(c.attributes, [&](const auto& each) { return each.first == name; });
      c.attributes.emplace_back(name, value);
    };
  };
  const Refused all[] = {
      {"LSTM", operand(0, random({4, 3})), "rank 3"},
      {"LSTM", operand(1, random({1, 20, 4})),
       "its input 1, is float32[1,20,4], should be [1,20,3]"},
      {"LSTM", operand(2, random({1, 15, 5})),
       "its input 2, is float32[1,15,5], should be [1,20,5]"},
      {"GRU", operand(2, random({15, 5})),
       "its input 2, is float32[15,5], should have 3 dimensions"},
      {"GRU", operand(3, random({1, 15})), "its input 3, is float32[1,15], should be [1,30]"},
      {"RNN", operand(4, lengths_of({1, 2})), "its input 4, is int32[2], should be [3]"},
      {"RNN", operand(5, random({2, 3, 5})), "its input 5, is float32[2,3,5], should be [1,3,5]"},
      {"LSTM", operand(6, random({1, 3, 4})), "its input 6, is float32[1,3,4], should be [1,3,5]"},
      {"LSTM", operand(7, random({1, 20})), "its input 7, is float32[1,20], should be [1,15]"},
      {"LSTM", operand(4, lengths_of({4, 5, 1})),
       "the sequence of example 1 has length 5, should be in 0..4"},
      {"GRU", operand(4, lengths_of({4, -1, 1})), "the sequence of example 1 has length -1"},
      {"GRU",
       [](OpCase& c) {
         c.inputs[4] = lengths_of({1, 2, 9});
         c.inputs[4].constant = true;
       },
       "a sequence has length 9, should be in 0..4"},
      {"LSTM", attribute("hidden_size", int64_t{6}),
       "its input 1, is float32[1,20,3], should be [1,24,3]"},
      {"LSTM", attribute("hidden_size", int64_t{-5}), "hidden_size is -5"},
      {"LSTM", attribute("direction", "backward"), "direction is 'backward', should be forward"},
      {"RNN", attribute("direction", "bidirectional"),
       "its input 1, is float32[1,5,3], should be [2,5,3]"},
      {"RNN", attribute("layout", int64_t{2}), "layout is 2, should be 0 or 1"},
      {"GRU", attribute("clip", 0.0F), "clip is 0, should be more than 0"},
      {"GRU", attribute("clip", std::nanf("")), "clip is nan"}};
  for (const Refused& refused : all) {
    OpCase c = recurrent_case("bad", {.cell = refused.cell});
    refused.spoil(c);
    expect_error([&] { check_case(c); }, refused.why);
  }
}

TEST(RecurrentErrors, OfActivationsAreNamed) {
  const auto refused = [](Attributes attributes, const std::string& why) {
    OpCase c = training_form(recurrent_case("bad", {.cell = "GRU"}));
    c.attributes.insert(c.attributes.end(), attributes.begin(), attributes.end());
    expect_error([&] { check_case(c); }, "node (GRUTrain", why);
  };
  refused({{"activations", "Sigmoid,Swish"}},
          "no recurrent operator has an activation 'Swish'; it may be one of Affine, Elu");
  refused({{"activations", "Sigmoid"}}, "it has 1 activations, should have 2");
  refused({{"activation_alpha", std::vector<float>{1}}},
          "activation_alpha has 1 numbers, its activations need 0");
  refused({{"activations", "Affine,Tanh"}, {"activation_beta", std::vector<float>{1, 2}}},
          "activation_beta has 2 numbers, its activations need 1");
}

}  // namespace
}  // namespace lockstep::testing
