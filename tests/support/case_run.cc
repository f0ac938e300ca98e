// SPDX-License-Identifier: Apache-2.0
#include "tests/support/case_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "lockstep/types.h"
#include "runtime/accelerator.h"
#include "tests/support/queued_cpu.h"

namespace lockstep::testing {
namespace {

constexpr std::size_t kGuard = 64;

Literal copy_of(const Tensor& tensor) {
  Literal literal(tensor.desc.dtype, tensor.desc.dims);
  if (!literal.bytes().empty())
    std::memcpy(literal.bytes().data(), tensor.data, literal.bytes().size());
  return literal;
}

struct CaseDevice {
  Device device;
  const std::vector<KernelTable>* kernels = &all_kernels();
  Accelerator* accelerator = nullptr;
  double tolerance = 0;  // a minimum
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
    if (name == "gpu") on.tolerance = rounds_to_tf32() ? 2e-2 : 1e-4;
    for (const KernelTable& table : *on.kernels)
      if (table.kind() == DeviceKind::gpu) on.accelerator = table.accelerator();
    check(on.accelerator != nullptr, "this build has no GPU kernels");
    return on;
  }();
  return chosen;
}

}  // namespace

double device_tolerance() { return case_device().tolerance; }
bool runs_on_the_cpu() { return case_device().device.kind == DeviceKind::cpu; }
bool rounds_to_tf32() {
  const char* asked = std::getenv("LOCKSTEP_CASE_PRECISION");
  return asked && std::string(asked) == "tf32";
}

CaseRunner::CaseRunner(const Graph& graph, const OpCase& c, const std::vector<std::string>& feeds,
                       const std::vector<std::string>& fetches, const CompileOptions& options,
                       Where where)
    : options_(options), store_({}, {}), workers_(1, 1) {
  options_.tf32 = rounds_to_tf32();
  std::vector<Dims> dims;
  for (const CaseInput& input : c.inputs)
    if (!input.constant && !input.absent) dims.push_back(input.value.dims());
  const CaseDevice on = where == Where::cpu ? CaseDevice{} : case_device();
  executor_ = make_executor(compile({.graph = graph,
                                     .feeds = feeds,
                                     .feed_dims = dims,
                                     .fetches = fetches,
                                     .devices = {on.device},
                                     .kernels = *on.kernels,
                                     .options = options_}),
                            store_, workers_, on.accelerator);
}

std::vector<Literal> CaseRunner::run(const std::vector<Literal>& values) {
  std::vector<Tensor> feeds;
  for (const Literal& value : values) feeds.push_back(view_of(value));
  executor_->run(feeds, {});
  if (options_.guard_bytes > 0) executor_->check_guards(options_.guard_bytes);
  std::vector<Literal> results;
  for (const Tensor& tensor : executor_->fetches()) results.push_back(copy_of(tensor));
  return results;
}

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

std::vector<Literal> fed_values(const OpCase& c) {
  std::vector<Literal> values;
  for (const CaseInput& input : c.inputs)
    if (!input.constant && !input.absent) values.push_back(input.value);
  return values;
}

CompileOptions guarded() {
  return {.threads = 1, .reuse_memory = false, .alias = false, .guard_bytes = kGuard};
}

Literal of_doubles(const std::vector<double>& values, const Dims& dims, DType dtype) {
  auto as = [&]<class T>() {
    std::vector<T> converted;
    for (double value : values) converted.push_back(T(static_cast<float>(value)));
    return Literal::of<T>(converted, dims);
  };
  if (dtype == DType::float16) return as.template operator()<Half>();
  if (dtype == DType::bfloat16) return as.template operator()<BFloat16>();
  check(dtype == DType::float32, "a test writes ", dtype);
  return as.template operator()<float>();
}

Doubles to_doubles(const Literal& literal) {
  Doubles result{literal.dims(), {}};
  auto take = [&](auto values) { result.values.assign(values.begin(), values.end()); };
  switch (literal.dtype()) {
    case DType::float32:
      take(literal.values<float>());
      break;
    case DType::float16:
      take(literal.values<Half>());
      break;
    case DType::bfloat16:
      take(literal.values<BFloat16>());
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

void expect_near(const Doubles& expected, const Literal& found, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(text_of(expected.dims), text_of(found.dims())) << what;
  Doubles values = to_doubles(found);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double wanted = expected.values[i], value = values.values[i];
    // An infinity has no distance to itself.
    if (wanted == value || (std::isnan(wanted) && std::isnan(value))) continue;
    ASSERT_NEAR(wanted, value, tolerance * std::max(1.0, std::abs(wanted)))
        << what << " element " << i;
  }
}

}  // namespace lockstep::testing
