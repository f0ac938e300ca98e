// SPDX-License-Identifier: Apache-2.0
// Networks with batch norms that may be folded into convolutions, and their predictions on several
// kinds of devices.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "runtime/plan/plan.h"
#include "tests/support/queued_cpu.h"

namespace lockstep::testing {

// A network. Its parameters are states with random numbers.
class FoldNet {
 public:
  Graph graph{all_ops(), "net"};
  std::map<std::string, Literal> fed, states;

  Value feed(const std::string& name, const Dims& dims) {
    fed.emplace(name, drawn(dims));
    return graph.input(name, {DType::float32, to_shape(dims)});
  }
  Value state(const std::string& name, Literal value) {
    const Value made = graph.input(name, value.type());
    states.emplace(name, std::move(value));
    return made;
  }
  Value state(const std::string& name, const Dims& dims) { return state(name, drawn(dims)); }

  // Adds a convolution with square filters that preserves the scale of values.
  Value convolve(Value x, int64_t outputs, int64_t side, const ConvAttrs& attrs, bool bias,
                 const std::string& name) {
    const int64_t inputs = graph.shape(x)[1].size() / attrs.group;
    const auto size = static_cast<float>(std::sqrt(inputs * side * side));
    const Value w = state(name + "_w", drawn({outputs, inputs, side, side}, 1 / size));
    return conv(graph, x, w, bias ? state(name + "_b", Dims{outputs}) : none, attrs, name);
  }
  // Adds a batch norm with scales of both signs.
  BatchNormOperands norm_of(Value x, const std::string& name) {
    const Dims channels{graph.shape(x)[1].size()};
    const Literal spread = drawn(channels);
    std::vector<float> values(spread.values<float>().begin(), spread.values<float>().end());
    for (float& value : values) value = std::abs(value) + 0.25F;
    const Value scale = state(name + "_scale", channels), bias = state(name + "_bias", channels);
    const Value mean = state(name + "_mean", channels);
    return {x, scale, bias, mean, state(name + "_variance", Literal::of<float>(values, channels))};
  }
  Value norm(Value x, const std::string& name) {
    return batch_norm(graph, norm_of(x, name), {.epsilon = 0.01F}, name);
  }

 private:
  Literal drawn(const Dims& dims, float size = 1) {
    std::normal_distribution<float> normal(0, size);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = normal(random_);
    return Literal::of<float>(values, dims);
  }

  std::mt19937 random_{7};
};

// A CPU, a CPU behind queues with a GPU's rewrites, or a GPU.
enum class FoldDevice { cpu, queues, gpu };

struct FoldWay {
  FoldDevice where = FoldDevice::cpu;
  DType precision = DType::float32;
  bool rewrites = true, exact = false;

  const std::vector<KernelTable>& kernels() const {
    return where == FoldDevice::queues ? queued_kernels() : all_kernels();
  }
  Device device() const { return where == FoldDevice::cpu ? cpu_devices(1)[0] : gpu_devices(1)[0]; }
};

struct FoldedPrediction {
  std::vector<float> y;
  std::string plan;
  std::map<std::string, int> steps;
  int folded = 0;
};

// Counts the plan's steps by type.
void count_folded(const Plan& plan, FoldedPrediction& predicted);
// Returns the first output. Expects two runs to agree on the output.
FoldedPrediction predicted_by(const FoldNet& net, const FoldWay& way);

}  // namespace lockstep::testing
