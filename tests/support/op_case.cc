// SPDX-License-Identifier: Apache-2.0
#include "tests/support/op_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "data/npy.h"
#include "graph/gradient.h"
#include "graph/passes/portable.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

DType case_precision() {
  const char* asked = std::getenv("LOCKSTEP_CASE_PRECISION");
  return asked && !rounds_to_tf32() ? dtype_named(asked) : DType::float32;
}

// The CPU's kernels are the oracle for all other kernels. In 16 bits the oracle rounds values that
// a fused kernel keeps in float32, so both may err, in opposite directions.
void expect_of_the_cpu(const Graph& graph, const OpCase& c, const std::vector<std::string>& feeds,
                       const std::vector<std::string>& fetches, const std::vector<Literal>& found) {
  if (runs_on_the_cpu()) return;
  const auto expected = CaseRunner(graph, c, feeds, fetches, {}, Where::cpu).run(fed_values(c));
  const double apart = case_precision() == DType::float32 ? c.tolerance : 2 * c.tolerance;
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_near(to_doubles(expected[i]), found[i], std::max(apart, device_tolerance()),
                join(fetches[i], " beside the CPU's"));
}

std::vector<Literal> check_forward(const OpCase& c) {
  Built built = build(c);
  std::vector<std::string> fetches;
  for (Value output : built.outputs) fetches.push_back(built.graph.name(output));
  std::vector<Literal> plain =
      CaseRunner(built.graph, c, built.feeds, fetches, guarded()).run(fed_values(c));
  if (c.reference) {
    std::vector<Doubles> inputs;
    for (const CaseInput& input : c.inputs)
      inputs.push_back(input.absent ? Doubles{} : to_doubles(input.value));
    std::vector<Doubles> expected = c.reference(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_near(expected[i], plain[i], std::max(c.tolerance, device_tolerance()),
                  join("output ", i));
  }
  expect_of_the_cpu(built.graph, c, built.feeds, fetches, plain);
  auto aliased = CaseRunner(built.graph, c, built.feeds, fetches, {}).run(fed_values(c));
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(plain[i] == aliased[i]) << "output " << i << " changes when memory is shared";
  return plain;
}

// A case and the gradient of the weighted sum of its floating outputs.
struct GradientCase {
  Built built;
  std::vector<std::string> outputs;            // the outputs in the sum
  std::vector<std::vector<double>> weight_of;  // the weights of each output
  std::vector<std::size_t> fed_index;          // the feed index of each differentiable operand
  std::vector<std::string> gradients;          // the gradient of each differentiable operand
};

GradientCase differentiated(const OpCase& c, const std::vector<Literal>& forward) {
  GradientCase made{build(c), {}, {}, {}, {}};
  Graph& graph = made.built.graph;
  PhiloxSequence weights(7, 7);
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < made.built.outputs.size(); ++i) {
    if (c.loss_outputs >= 0 && static_cast<int>(i) >= c.loss_outputs) break;
    const Value output = made.built.outputs[i];
    if (!is_floating(graph.dtype(output))) continue;
    std::vector<double> weight(forward[i].count());
    for (double& w : weight) w = weights.uniform(0.2, 1);
    Value seed =
        graph.constant(join("seed", i), of_doubles(weight, forward[i].dims(), graph.dtype(output)));
    losses.push_back({output, seed});
    made.outputs.push_back(graph.name(output));
    made.weight_of.push_back(std::move(weight));
  }
  std::vector<Value> wanted;
  std::size_t fed = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].constant || c.inputs[i].absent) continue;
    if (c.inputs[i].differentiable) {
      wanted.push_back(made.built.inputs[i]);
      made.fed_index.push_back(fed);
    }
    ++fed;
  }
  if (wanted.empty()) return made;
  for (Value gradient : add_gradients(graph, losses, wanted).values) {
    check(bool(gradient), c.name, ": an operand that should have a gradient has none");
    made.gradients.push_back(graph.name(gradient));
  }
  return made;
}

void check_gradient(const OpCase& c, const std::vector<Literal>& forward) {
  const GradientCase made = differentiated(c, forward);
  if (made.gradients.empty()) return;
  const Graph& graph = made.built.graph;
  const std::vector<std::string>& feeds = made.built.feeds;
  std::vector<Literal> values = fed_values(c);
  auto found = CaseRunner(graph, c, feeds, made.gradients, guarded()).run(values);
  expect_of_the_cpu(graph, c, feeds, made.gradients, found);
  if (rounds_to_tf32()) return;  // finite differences of rounded results are meaningless
  auto shared = CaseRunner(graph, c, feeds, made.gradients, {}).run(values);
  CaseRunner runner(graph, c, feeds, made.outputs, {});
  auto total = [&] {
    double sum = 0;
    auto outputs = runner.run(values);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Doubles y = to_doubles(outputs[i]);
      for (std::size_t k = 0; k < y.values.size(); ++k) sum += y.values[k] * made.weight_of[i][k];
    }
    return sum;
  };
  constexpr double kStep = 1e-2;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i] == shared[i]) << "gradient " << i << " changes when memory is shared";
    Literal& x = values[made.fed_index[i]];
    ASSERT_EQ(text_of(x.dims()), text_of(found[i].dims())) << "gradient of input " << i;
    auto* data = reinterpret_cast<float*>(x.bytes().data());
    Doubles analytic = to_doubles(found[i]);
    const int64_t stride = std::max<int64_t>(1, x.count() / 40);
    for (int64_t k = 0; k < x.count(); k += stride) {
      const float saved = data[k];
      data[k] = static_cast<float>(saved + kStep);
      const double up = total();
      const double high = data[k];
      data[k] = static_cast<float>(saved - kStep);
      const double down = total();
      const double numeric = (up - down) / (high - data[k]);
      data[k] = saved;
      ASSERT_NEAR(numeric, analytic[k], 1e-2 * std::max(1.0, std::abs(numeric)))
          << "gradient of input " << i << ", element " << k;
    }
  }
}

// -- 16-bit floats: LOCKSTEP_CASE_PRECISION is float16 or bfloat16 (tf32: see case_run.h)

constexpr double kNarrowTolerance = 1e-2;

// The case with its operands rounded to `narrow` and stored as `held`: `narrow` or float32.
OpCase rounded(const OpCase& c, DType narrow, DType held) {
  const std::vector<int>& wide = all_ops().find(c.domain, c.type)->narrow.wide_inputs;
  OpCase changed = c;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Literal& value = changed.inputs[i].value;
    if (c.inputs[i].absent || value.dtype() != DType::float32 ||
        std::count(wide.begin(), wide.end(), static_cast<int>(i)) > 0)
      continue;
    const Doubles doubles = to_doubles(of_doubles(to_doubles(value).values, value.dims(), narrow));
    value = of_doubles(doubles.values, value.dims(), held);
  }
  return changed;
}

// Expects an operator on 16-bit floats to give the results of the same operator in float32.
void check_narrow(const OpCase& c, DType narrow) {
  if (all_ops().find(c.domain, c.type)->narrow.when == Narrow::never) return;
  OpCase wide = rounded(c, narrow, DType::float32);
  OpCase mine = rounded(c, narrow, narrow);
  wide.tolerance = mine.tolerance = kNarrowTolerance;  // references have unrounded constants
  const std::vector<Literal> expected = check_forward(wide);
  const std::vector<Literal> found = check_forward(mine);
  if (::testing::Test::HasFatalFailure()) return;
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_near(to_doubles(expected[i]), found[i], kNarrowTolerance, join("output ", i));
  if (!c.gradient) return;
  auto gradients = [](const OpCase& of, const std::vector<Literal>& forward) {
    const GradientCase made = differentiated(of, forward);
    if (made.gradients.empty()) return std::vector<Literal>{};
    return CaseRunner(made.built.graph, of, made.built.feeds, made.gradients, guarded())
        .run(fed_values(of));
  };
  const auto wide_gradients = gradients(wide, expected), mine_gradients = gradients(mine, found);
  for (std::size_t i = 0; i < wide_gradients.size(); ++i) {
    const Doubles gradient = to_doubles(wide_gradients[i]);
    double most = 1;  // rounding errors grow with the terms, not with their sum
    for (double value : gradient.values) most = std::max(most, std::abs(value));
    expect_near(gradient, mine_gradients[i], kNarrowTolerance * most, join("gradient ", i));
  }
}

// Bodies reshape, which requires tensors that are not empty.
bool has_portable_body(const OpCase& c, const std::vector<Literal>& outputs) {
  const auto empty = [](const Literal& literal) { return literal.count() == 0; };
  return all_ops().find(c.domain, c.type)->body &&
         std::none_of(outputs.begin(), outputs.end(), empty) &&
         std::none_of(c.inputs.begin(), c.inputs.end(),
                      [&](const CaseInput& input) { return !input.absent && empty(input.value); });
}

void write_for_oracle(OpCase c, const std::vector<Literal>& outputs) {
  const char* directory = std::getenv("LOCKSTEP_CASE_DIR");
  const bool ours = !c.domain.empty();
  if (!directory || !c.oracle || (ours && !has_portable_body(c, outputs))) return;
  const std::string folder = join(directory, "/", c.type, "_", c.name);
  std::filesystem::create_directories(folder);
  if (ours) c.symbolic_batch = false;  // bodies need known sizes
  Built built = build(c);
  for (Value output : built.outputs) built.graph.output(output);
  TrainingModel model(all_ops());
  model.inference = ours ? in_standard_operators(built.graph) : std::move(built.graph);
  save_model(model, folder + "/model.onnx");
  std::vector<Literal> values = fed_values(c);
  for (std::size_t i = 0; i < values.size(); ++i)
    write_npy(join(folder, "/", built.feeds[i], ".npy"), values[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    write_npy(join(folder, "/y", i, ".npy"), outputs[i]);
}

CaseInput drawn(const Dims& dims, int seed, bool positive) {
  // Evenly spaced values in shuffled order. Up to 60 elements, no two values are within 0.03;
  // beyond, ties are far apart.
  const int64_t count = element_count(dims);
  PhiloxSequence random(99, static_cast<uint64_t>(seed));
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = (i + 0.5) / static_cast<double>(count);
  for (int64_t i = count - 1; i > 0; --i) std::swap(values[i], values[random.below(i + 1)]);
  for (double& value : values) {
    if (positive)
      value += 0.5;
    else
      value = value < 0.5 ? -1 + 1.9 * value : 0.05 + 1.9 * (value - 0.5);
  }
  return {of_doubles(values, dims), true, false, false};
}

}  // namespace

CaseInput random(const Dims& dims, int seed) { return drawn(dims, seed, false); }
CaseInput positive(const Dims& dims, int seed) { return drawn(dims, seed, true); }
CaseInput fixed(std::vector<int64_t> values) {
  return {Literal::vector(values), false, true, false};
}
CaseInput labels(std::vector<int64_t> values, const Dims& dims) {
  return {Literal::of<int64_t>(values, dims), false, false, false};
}
CaseInput given(Literal value) { return {std::move(value), false, false, false}; }
CaseInput left_out() { return {{}, false, false, true}; }

std::ostream& operator<<(std::ostream& out, const OpCase& c) {
  return out << c.type << "/" << c.name;
}

void check_case(const OpCase& c) {
  if (const DType precision = case_precision(); precision != DType::float32)
    return check_narrow(c, precision);
  std::vector<Literal> outputs = check_forward(c);
  if (::testing::Test::HasFatalFailure()) return;
  write_for_oracle(c, outputs);
  if (c.gradient) check_gradient(c, outputs);
}

Reference elementwise(std::function<double(const std::vector<double>&)> f) {
  return [f](const std::vector<Doubles>& inputs) {
    Doubles y{inputs[0].dims, std::vector<double>(inputs[0].values.size())};
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      std::vector<double> at;
      for (const Doubles& input : inputs) at.push_back(input.values[i]);
      y.values[i] = f(at);
    }
    return std::vector<Doubles>{y};
  };
}

}  // namespace lockstep::testing
