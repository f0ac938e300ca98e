#include "tests/support/sums.h"

#include <gtest/gtest.h>

#include "operators/elementwise/elementwise.h"
#include "runtime/philox.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

std::vector<float> share(int replica, int64_t length) {
  PhiloxSequence random(7, static_cast<uint64_t>(replica));
  std::vector<float> values;
  for (int64_t i = 0; i < length; ++i) values.push_back(static_cast<float>(random.uniform(-1, 1)));
  return values;
}

}  // namespace

const std::vector<std::string> kAlgorithms{
    "collective",  "nccl",        "xring",       "rechd",
    "bcube",       "pscpu",       "psgpu",       "muji",
    "simple",      "nccl/xring",  "nccl/rechd",  "nccl/pscpu",
    "pscpu/xring", "pscpu/rechd", "pscpu/pscpu", "hierarchical_copy",
    "xring#2"};

TrainingModel sum_model(const std::string& spec, int replicas, int64_t length,
                        const std::string& wire) {
  TrainingModel model(all_ops());
  model.replicas = replicas;
  Replicated input{"x", {}}, result{"sum", {}};
  std::vector<Value> values;
  for (int k = 0; k < replicas; ++k) {
    ReplicaScope replica(model.step, k);
    input.values.push_back(join("cpu_", k, "/x"));
    Value x = model.step.input(input.values.back(), {DType::float32, {length}});
    values.push_back(neg(model.step, x, join("cpu_", k, "/w_grad")));
  }
  AllReducer reducer({.spec = parse_all_reduce(spec), .wire = wire}, replicas);
  for (Value sum : reducer.sum(model.step, values, "w"))
    result.values.push_back(model.step.name(sum));
  model.inputs.push_back(input);
  model.metrics.push_back(result);
  return model;
}

std::vector<std::vector<float>> sums_of(const TrainingModel& part, const SumRun& run) {
  const auto devices = run.devices.empty() ? cpu_devices(part.replicas) : run.devices;
  Session session(part, devices, run.kernels ? *run.kernels : all_kernels(), {1, 1, {}, run.comm});
  std::vector<std::vector<float>> fed;
  std::vector<Tensor> feeds;
  for (int k = 0; k < part.replicas; ++k) fed.push_back(share(run.first + k, run.length));
  for (auto& values : fed) feeds.push_back({{DType::float32, {run.length}}, values.data()});
  std::vector<std::vector<float>> results;
  for (int time = 0; time < 2; ++time) {
    std::vector<std::vector<float>> fetched;
    for (const Tensor& tensor : session.step().run(feeds, session.run_options(0)))
      fetched.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
    if (time > 0) {
      EXPECT_EQ(results, fetched) << "another run, another sum";
    }
    results = std::move(fetched);
  }
  return results;
}

}  // namespace lockstep::testing
