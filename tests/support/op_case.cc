#include "tests/support/op_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "data/npy.h"
#include "graph/gradient.h"
#include "graph/io.h"
#include "operators/all.h"
#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"
#include "runtime/compile.h"
#include "runtime/executor.h"
#include "runtime/philox.h"
#include "tests/support/queued_cpu.h"

namespace lockstep::testing {
namespace {

constexpr std::size_t kGuard = 64;

Literal of_doubles(const std::vector<double>& values, const Dims& dims) {
  std::vector<float> floats(values.begin(), values.end());
  return Literal::of<float>(floats, dims);
}

Doubles to_doubles(const Literal& literal) {
  Doubles result{literal.dims(), {}};
  auto take = [&](auto values) { result.values.assign(values.begin(), values.end()); };
  switch (literal.dtype()) {
    case DType::float32:
      take(literal.values<float>());
      break;
    case DType::float64:
      take(literal.values<double>());
      break;
    case DType::int64:
      take(literal.values<int64_t>());
      break;
    case DType::int32:
      take(literal.values<int32_t>());
      break;
    case DType::uint8:
      take(literal.values<uint8_t>());
      break;
    case DType::int8:
      take(literal.values<int8_t>());
      break;
    case DType::boolean:
      take(literal.values<bool>());
      break;
    default:
      fail("a test reads ", literal.type());
  }
  return result;
}

Literal copy_of(const Tensor& tensor) {
  Literal literal(tensor.desc.dtype, tensor.desc.dims);
  if (!literal.bytes().empty())
    std::memcpy(literal.bytes().data(), tensor.data, literal.bytes().size());
  return literal;
}

// The case's node in a graph, its fed inputs named x0, x1, .. and its outputs y0, y1, ...
struct Built {
  Graph graph{all_ops(), "case"};
  std::vector<std::string> feeds;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
};

Built build(const OpCase& c) {
  Built built;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const CaseInput& input = c.inputs[i];
    const std::string name = join("x", i);
    if (input.absent) {
      built.inputs.push_back(none);
    } else if (input.constant) {
      built.inputs.push_back(built.graph.constant(name, input.value));
    } else {
      TensorType type = input.value.type();
      if (c.symbolic_batch && !type.shape.empty()) type.shape[0] = "N";
      built.inputs.push_back(built.graph.input(name, type));
      built.feeds.push_back(name);
    }
  }
  std::vector<std::string> names;
  for (int i = 0; i < c.outputs; ++i) names.push_back(join("y", i));
  Node node = built.graph.add({.type = c.type,
                               .domain = c.domain,
                               .inputs = built.inputs,
                               .attributes = c.attributes,
                               .outputs = c.outputs,
                               .output_names = names},
                              "node");
  built.outputs.assign(node.outputs().begin(), node.outputs().end());
  return built;
}

// Cases run on the CPU, or where LOCKSTEP_CASE_DEVICE says: on a GPU, or on a CPU behind queues.
struct CaseDevice {
  Device device;
  const std::vector<KernelTable>* kernels = &all_kernels();
  Accelerator* accelerator = nullptr;
  double tolerance = 0;  // at least
};

const CaseDevice& case_device() {
  static const CaseDevice chosen = [] {
    const char* asked = std::getenv("LOCKSTEP_CASE_DEVICE");
    const std::string name = asked ? asked : "cpu";
    CaseDevice on;
    if (name == "cpu") return on;
    check(name == "gpu" || name == "queues", "LOCKSTEP_CASE_DEVICE is cpu, gpu or queues, not '",
          name, "'");
    on.device.kind = DeviceKind::gpu;
    if (name == "queues") on.kernels = &queued_kernels();
    if (name == "gpu") on.tolerance = 1e-4;
    for (const KernelTable& table : *on.kernels)
      if (table.kind() == DeviceKind::gpu) on.accelerator = table.accelerator();
    check(on.accelerator != nullptr, "this build has no GPU kernels");
    return on;
  }();
  return chosen;
}

class Runner {
 public:
  Runner(const Graph& graph, const OpCase& c, const std::vector<std::string>& feeds,
         const std::vector<std::string>& fetches, const CompileOptions& options)
      : options_(options), store_({}, {}), workers_(1, 1) {
    std::vector<Dims> dims;
    for (const CaseInput& input : c.inputs)
      if (!input.constant && !input.absent) dims.push_back(input.value.dims());
    const CaseDevice& on = case_device();
    executor_ = make_executor(
        compile({graph, feeds, dims, fetches, {}, {}, {on.device}, *on.kernels, options}), store_,
        workers_, on.accelerator);
  }

  std::vector<Literal> run(const std::vector<Literal>& values) {
    std::vector<Tensor> feeds;
    for (const Literal& value : values) feeds.push_back(view_of(value));
    executor_->run(feeds, {});
    if (options_.guard_bytes > 0) executor_->check_guards(options_.guard_bytes);
    std::vector<Literal> results;
    for (const Tensor& tensor : executor_->fetches()) results.push_back(copy_of(tensor));
    return results;
  }

 private:
  CompileOptions options_;
  StateStore store_;
  Workers workers_;
  std::unique_ptr<Executor> executor_;
};

std::vector<Literal> fed_values(const OpCase& c) {
  std::vector<Literal> values;
  for (const CaseInput& input : c.inputs)
    if (!input.constant && !input.absent) values.push_back(input.value);
  return values;
}

CompileOptions guarded() {
  return {.threads = 1, .reuse_memory = false, .alias = false, .guard_bytes = kGuard};
}

void expect_near(const Doubles& expected, const Literal& found, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(text_of(expected.dims), text_of(found.dims())) << what;
  Doubles values = to_doubles(found);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    double bound = tolerance * std::max(1.0, std::abs(expected.values[i]));
    ASSERT_NEAR(expected.values[i], values.values[i], bound) << what << " element " << i;
  }
}

std::vector<Literal> check_forward(const OpCase& c) {
  Built built = build(c);
  std::vector<std::string> fetches;
  for (Value output : built.outputs) fetches.push_back(built.graph.name(output));
  std::vector<Literal> plain =
      Runner(built.graph, c, built.feeds, fetches, guarded()).run(fed_values(c));
  if (c.reference) {
    std::vector<Doubles> inputs;
    for (const CaseInput& input : c.inputs)
      inputs.push_back(input.absent ? Doubles{} : to_doubles(input.value));
    std::vector<Doubles> expected = c.reference(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_near(expected[i], plain[i], std::max(c.tolerance, case_device().tolerance),
                  join("output ", i));
  }
  auto aliased = Runner(built.graph, c, built.feeds, fetches, {}).run(fed_values(c));
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(plain[i] == aliased[i]) << "output " << i << " changes when memory is shared";
  return plain;
}

// d/dx of the weighted sum of all floating outputs.
void check_gradient(const OpCase& c) {
  Built built = build(c);
  Graph& graph = built.graph;
  PhiloxSequence weights(7, 7);
  std::vector<std::string> fetches;
  std::vector<std::vector<double>> weight_of;
  std::vector<Loss> losses;
  auto forward = check_forward(c);
  for (std::size_t i = 0; i < built.outputs.size(); ++i) {
    if (c.loss_outputs >= 0 && static_cast<int>(i) >= c.loss_outputs) break;
    if (!is_floating(graph.dtype(built.outputs[i]))) continue;
    std::vector<double> weight(forward[i].count());
    for (double& w : weight) w = weights.uniform(0.2, 1);
    Value seed = graph.constant(join("seed", i), of_doubles(weight, forward[i].dims()));
    losses.push_back({built.outputs[i], seed});
    fetches.push_back(graph.name(built.outputs[i]));
    weight_of.push_back(std::move(weight));
  }
  std::vector<Value> wanted;
  std::vector<std::size_t> fed_index;  // of each wanted input among the feeds
  std::size_t fed = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.inputs[i].constant || c.inputs[i].absent) continue;
    if (c.inputs[i].differentiable) {
      wanted.push_back(built.inputs[i]);
      fed_index.push_back(fed);
    }
    ++fed;
  }
  if (wanted.empty()) return;
  Gradients gradients = add_gradients(graph, losses, wanted);
  std::vector<std::string> gradient_names;
  for (Value gradient : gradients.values) {
    ASSERT_TRUE(bool(gradient));
    gradient_names.push_back(graph.name(gradient));
  }
  std::vector<Literal> values = fed_values(c);
  auto found = Runner(graph, c, built.feeds, gradient_names, guarded()).run(values);
  auto shared = Runner(graph, c, built.feeds, gradient_names, {}).run(values);
  Runner runner(graph, c, built.feeds, fetches, {});
  auto total = [&] {
    double sum = 0;
    auto outputs = runner.run(values);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Doubles y = to_doubles(outputs[i]);
      for (std::size_t k = 0; k < y.values.size(); ++k) sum += y.values[k] * weight_of[i][k];
    }
    return sum;
  };
  constexpr double kStep = 1e-2;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i] == shared[i]) << "gradient " << i << " changes when memory is shared";
    Literal& x = values[fed_index[i]];
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

void write_for_oracle(const OpCase& c, const std::vector<Literal>& outputs) {
  const char* directory = std::getenv("LOCKSTEP_CASE_DIR");
  if (!directory || !c.domain.empty() || !c.oracle) return;
  const std::string folder = join(directory, "/", c.type, "_", c.name);
  std::filesystem::create_directories(folder);
  Built built = build(c);
  for (Value output : built.outputs) built.graph.output(output);
  TrainingModel model(all_ops());
  model.inference = std::move(built.graph);
  save_model(model, folder + "/model.onnx");
  std::vector<Literal> values = fed_values(c);
  for (std::size_t i = 0; i < values.size(); ++i)
    write_npy(join(folder, "/", built.feeds[i], ".npy"), values[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    write_npy(join(folder, "/y", i, ".npy"), outputs[i]);
}

CaseInput drawn(const Dims& dims, int seed, bool positive) {
  // A shuffled, evenly spaced ladder: no two values within 0.03 for up to 60 elements, and ties
  // only far apart beyond.
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
  std::vector<Literal> outputs = check_forward(c);
  if (::testing::Test::HasFatalFailure()) return;
  write_for_oracle(c, outputs);
  if (c.gradient) check_gradient(c);
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
