// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "builders/all_reduce/expand.h"
#include "graph/auxiliaries.h"
#include "graph/passes/replicate.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "operators/collective/collective.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {

std::vector<float> term_of(int replica, int64_t length, bool whole_numbers) {
  PhiloxSequence random(7, static_cast<uint64_t>(replica));
  std::vector<float> values;
  for (int64_t i = 0; i < length; ++i) {
    const auto value = static_cast<float>(random.uniform(-1, 1));
    values.push_back(whole_numbers ? std::round(8 * value) : value);
  }
  return values;
}

bool sums_within_first(const std::string& spec) {
  return spec.rfind("collective", 0) == 0 || spec.rfind("nccl", 0) == 0;
}

const std::vector<std::string> kAlgorithms{
    "collective",  "nccl",        "xring",       "rechd",
    "bcube",       "pscpu",       "psgpu",       "muji",
    "simple",      "nccl/xring",  "nccl/rechd",  "nccl/pscpu",
    "pscpu/xring", "pscpu/rechd", "pscpu/pscpu", "hierarchical_copy",
    "xring#2",     "collective#3"};

SumGraph sum_graph(const AllReduceOptions& options, int replicas, const std::vector<Dims>& shapes) {
  Graph one(all_ops());
  std::vector<Value> gradients;
  std::vector<std::string> names;
  SumGraph made{Graph(all_ops()), {}, {}, ""};
  const auto on_all = [&](std::vector<std::string>& list, const std::string& name) {
    for (int k = 0; k < replicas; ++k) list.push_back(join("cpu_", k, "/", name));
  };
  for (const Dims& shape : shapes) {
    names.push_back(join("w", gradients.size()));
    const Value x = one.input("x_" + names.back(), {DType::float32, to_shape(shape)});
    on_all(made.feeds, one.name(x));
    gradients.push_back(neg(one, x, names.back() + "_grad"));
  }
  AllReducer reducer(options, replicas);
  for (Value sum : reducer.sum_all(one, gradients, names)) {
    on_all(made.sums, one.name(sum));
    one.output(sum);
  }
  made.graph = expand(replicate(one, replicas, "cpu"), options);
  made.bucket_plan = reducer.bucket_plan();
  return made;
}

TrainingModel sum_model(const std::string& spec, int replicas, int64_t length,
                        const std::string& wire) {
  return sum_model({.spec = parse_all_reduce(spec), .wire = parse_wire(wire)}, replicas, length);
}

TrainingModel sum_model(const AllReduceOptions& options, int replicas, int64_t length) {
  SumGraph sum = sum_graph(options, replicas, {Dims{length}});
  TrainingModel model(all_ops());
  model.replicas = replicas;
  model.step = std::move(sum.graph);
  model.inputs.push_back({{"x_w0", sum.feeds}});
  model.metrics.push_back({"sum", sum.sums});
  set_auxiliaries(model, options.auxiliaries * options.processes);
  return model;
}

void over_processes(int processes, const std::function<void(int rank, Comm* comm)>& body) {
  if (processes == 1) return body(0, nullptr);
  run_ranks(processes, [&](Comm& comm) { body(comm.rank(), &comm); });
}

std::vector<std::vector<float>> sums_of(const TrainingModel& part, const SumRun& run) {
  const auto devices = run.devices.empty() ? cpu_devices(places_of(part)) : run.devices;
  Session session(part, devices, run.kernels ? *run.kernels : all_kernels(), {1, 1, {}, run.comm});
  std::vector<std::vector<float>> fed;
  std::vector<Tensor> feeds;
  for (int k = 0; k < part.replicas; ++k)
    fed.push_back(term_of(run.first + k, run.length, run.whole_numbers));
  for (auto& values : fed) feeds.push_back({{DType::float32, {run.length}}, values.data()});
  std::vector<std::vector<float>> results;
  for (int time = 0; time < 2; ++time) {
    std::vector<std::vector<float>> fetched;
    for (const Tensor& tensor : session.step().run(feeds, session.run_options(0)))
      fetched.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
    if (time > 0) {
      EXPECT_EQ(results, fetched) << "two runs give different sums";
    }
    results = std::move(fetched);
  }
  return results;
}

void expect_naive_sums(const TrainingModel& part, const NaiveSum& naive, SumRun run) {
  const double divisor = naive.mean ? naive.replicas : 1;
  const double rounding = naive.wire.empty() ? 0x1p-24 : naive.wire == "float16" ? 0x1p-11 : 0x1p-8;
  for (const bool whole : {true, false}) {
    run.whole_numbers = whole;
    const auto found = sums_of(part, run);
    std::vector<double> sums(static_cast<std::size_t>(run.length)), sizes = sums;
    for (int k = 0; k < naive.replicas; ++k) {
      const std::vector<float> terms = term_of(k, run.length, whole);
      for (std::size_t i = 0; i < terms.size(); ++i) {
        sums[i] -= terms[i];
        sizes[i] += std::abs(terms[i]);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double near =
          whole && !naive.mean ? 0 : sizes[i] / divisor * rounding * (naive.replicas + 2);
      for (const auto& of_replica : found) {
        ASSERT_EQ(of_replica[i], found[0][i]) << "replicas differ";
        ASSERT_NEAR(of_replica[i], sums[i] / divisor, near)
            << i << (whole ? ", whole numbers" : "");
      }
    }
  }
}

}  // namespace lockstep::testing
