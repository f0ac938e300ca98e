// SPDX-License-Identifier: Apache-2.0
// A network with known gradients, and a run of it. The loss is a weighted sum of all parameters,
// times the mean of the feed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/state/session_members.h"
#include "tests/support/queued_cpu.h"

namespace lockstep::testing {

struct KnownParameter {
  const char* name;
  StateKind kind;
  float first;
  float slope;       // d loss / d parameter, for a mean of 1
  float spread = 0;  // the factor of element i is 1 + spread * i

  std::vector<float> elements(float of) const {
    std::vector<float> values;
    for (int i = 0; i < 6; ++i) values.push_back(of * (1 + spread * static_cast<float>(i)));
    return values;
  }
};
using KnownParameters = std::vector<KnownParameter>;

constexpr ParamRules kKnownRules{
    .weight_decay = 0.25F, .weight_decay_norm = 0.125F, .bias_rate_factor = 3};

inline float known_rate(int64_t step) { return step < 10 ? 0.1F : 0.02F; }
inline float known_correction(int64_t step) { return step == 10 ? 0.2F : 1; }

inline ModelFn known_gradients(KnownParameters parameters) {
  return [parameters = std::move(parameters)](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 1}});
    const Value mean = reduce_mean(net.graph, x, {}, false, "mean");
    const Dims dims{2, 3};
    Value loss = mean;
    for (const KnownParameter& parameter : parameters) {
      const std::string name = parameter.name;
      const auto literal = [&](float of) {
        return Literal::of<float>(parameter.elements(of), dims);
      };
      const Value p = net.param(name, dims, given(literal(parameter.first)), parameter.kind);
      const Value slopes = net.graph.constant(name + "_slopes", literal(parameter.slope));
      const Value sum = reduce_sum(net.graph, mul(net.graph, p, slopes), {}, false, name + "_sum");
      loss = add(net.graph, loss, mul(net.graph, sum, mean), name + "_loss");
    }
    net.training() ? net.loss("loss", loss) : net.output("out", loss);
  };
}

// A run on `replicas`. Each replica is fed numbers with a given mean.
class KnownRun {
 public:
  KnownRun(const KnownParameters& parameters, const Optimizer& optimizer, int replicas, bool queued,
           DataParallelOptions options = {}, const ParamRules& rules = kKnownRules)
      : data_(static_cast<std::size_t>(replicas)) {
    options.replicas = replicas;
    options.scope = "r";
    options.rules = rules;
    model_ = std::make_unique<TrainingModel>(
        build_data_parallel_model(all_ops(), known_gradients(parameters), optimizer, options));
    session_ = std::make_unique<Session>(
        *model_, queued ? gpu_devices(replicas) : cpu_devices(replicas),
        queued ? queued_kernels() : all_kernels(), SessionOptions{1, 1, {}});
    session_->initialise();
    for (const StepInput& input : model_->inputs)
      for (float& data : data_)
        feeds_.push_back(input.role == Role::data   ? Tensor{{DType::float32, {1, 1}}, &data}
                         : input.role == Role::rate ? Tensor{{DType::float32, {1}}, &rate_}
                                                    : Tensor{{DType::float32, {1}}, &correction_});
  }

  void step(int64_t step, float mean, float difference = 0.5F) {
    rate_ = known_rate(step);
    correction_ = known_correction(step);
    for (std::size_t k = 0; k < data_.size(); ++k)
      data_[k] = mean + (data_.size() == 1 ? 0 : k == 0 ? difference : k == 1 ? -difference : 0);
    session_->step().run(feeds_, session_->run_options(static_cast<uint64_t>(step)));
  }

  std::vector<float> of(const std::string& state, int replica = 0) {
    const Literal value = states_of(*session_).read(join("r_", replica, "/", state));
    return {value.values<float>().begin(), value.values<float>().end()};
  }
  const TrainingModel& model() { return *model_; }
  Session& session() { return *session_; }

 private:
  std::vector<float> data_;
  float rate_ = 0, correction_ = 1;
  std::unique_ptr<TrainingModel> model_;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> feeds_;
};

}  // namespace lockstep::testing
