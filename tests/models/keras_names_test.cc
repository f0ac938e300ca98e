// SPDX-License-Identifier: Apache-2.0
// The step of the Keras ResNet-50 under TensorFlow's names, compared with TensorFlow's list.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "builders/net/patterns.h"
#include "graph/file.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "models/step_names.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using Lines = std::vector<std::string>;

Lines lines_in(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Lines tensorflow_names() {
  return lines_in(read_file(source_path("tests/golden/resnet50_horovod_order.txt")));
}

TrainingModel keras_names(TrainingModel model) {
  return with_step_names("keras", "resnet50_keras", "resnet50_keras", std::move(model));
}

TrainingModel published_step(int replicas, bool deferred = false) {
  return build_data_parallel_model(
      all_ops(), model_named("resnet50_keras", published_options("resnet50_keras")), MomentumSgd{},
      {.replicas = replicas, .deferred = deferred});
}

// Lockstep's names on the first replica, without its scope, in order. A sum over replicas and its
// result on the replica have the same name.
Lines names_in(const TrainingModel& model) {
  Lines names;
  std::set<std::string> seen;
  for (const std::string& name : lines_in(names_of(model))) {
    const std::string bare = name.starts_with("gpu_0/") ? name.substr(6) : name;
    if (seen.insert(bare).second) names.push_back(bare);
  }
  return names;
}

struct Reason {
  Lines patterns;
  int count = 0;
  std::string text;
};

// The rows of the page's table.
std::vector<Reason> reasons() {
  const std::regex row(R"(\| (`.*`) \| (\d+) \| (.*) \|)"), pattern("`([^`]*)`");
  std::vector<Reason> reasons;
  for (const std::string& line : lines_in(read_file(source_path("docs/keras_names.md")))) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string names = cells[1];
    Reason reason{{}, std::stoi(cells[2]), cells[3]};
    for (std::sregex_iterator at(names.begin(), names.end(), pattern), end; at != end; ++at)
      reason.patterns.push_back((*at)[1]);
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

bool is_sum_over_processes(const std::string& name) {
  return matches_any(name, {"DistributedGradientTape_Allreduce/cond*/output/*"});
}

// Names of TensorFlow that the step lacks. A name that several replicas lack has one reason.
Lines missing_in(const TrainingModel& model) {
  const Lines names = names_in(model);
  const std::set<std::string> ours(names.begin(), names.end());
  Lines missing;
  for (const std::string& name : tensorflow_names())
    if (!ours.count(name)) missing.push_back(name);
  return missing;
}

TEST(KerasNames, EachOfTensorFlowsHasACounterpartOrOneReason) {
  ASSERT_EQ(tensorflow_names().size(), 2467u);
  const Lines missing = missing_in(keras_names(published_step(2)));
  EXPECT_EQ(2467 - missing.size(), 1367u) << "number of names with a counterpart";
  const std::vector<Reason> known = reasons();
  ASSERT_EQ(known.size(), 15u);
  std::vector<int> found(known.size(), 0);
  for (const std::string& name : missing) {
    int fitting = 0;
    for (std::size_t i = 0; i < known.size(); ++i)
      if (matches_any(name, known[i].patterns)) ++fitting, ++found[i];
    EXPECT_EQ(fitting, 1) << name;
  }
  for (std::size_t i = 0; i < known.size(); ++i)
    EXPECT_EQ(found[i], known[i].count) << known[i].text;
  // No reason refers to a name that the step has.
  for (const std::string& name : names_in(keras_names(published_step(2))))
    for (const Reason& reason : known)
      EXPECT_FALSE(matches_any(name, reason.patterns)) << name << ": " << reason.text;

  Lines alone = missing_in(keras_names(published_step(1)));
  EXPECT_EQ(2467 - alone.size(), 1153u);
  EXPECT_EQ(missing_in(keras_names(published_step(2, true))), alone)
      << "sums of deferred gradients keep their names";
  EXPECT_EQ(std::count_if(alone.begin(), alone.end(), is_sum_over_processes), 214);
  std::erase_if(alone, is_sum_over_processes);
  EXPECT_EQ(alone, missing) << "one replica also lacks the names of sums";
}

// The name without its layer and number.
std::string kind_of(const std::string& name) {
  static const std::regex layer("resnet50/[^/]*"), number("((cond|update|AddN)|output/)_[0-9]+");
  return std::regex_replace(std::regex_replace(name, layer, "*"), number, "$1");
}

Lines among(const Lines& names, const std::set<std::string>& wanted) {
  Lines found;
  for (const std::string& name : names)
    if (wanted.count(name)) found.push_back(name);
  return found;
}

// The largest distance between positions of the same name in the two lists.
std::ptrdiff_t farthest(const Lines& ours, const Lines& theirs) {
  std::ptrdiff_t most = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto place = std::find(ours.begin(), ours.end(), theirs[i]) - ours.begin();
    most = std::max(most, std::abs(place - static_cast<std::ptrdiff_t>(i)));
  }
  return most;
}

// `together`: the largest allowed distance in the list of all kinds.
void expect_order(const TrainingModel& model, std::ptrdiff_t together) {
  const Lines theirs = tensorflow_names();
  std::set<std::string> both;
  for (const std::string& name : among(names_in(model), {theirs.begin(), theirs.end()}))
    both.insert(name);
  std::map<std::string, std::set<std::string>> kinds;
  for (const std::string& name : both) kinds[kind_of(name)].insert(name);
  EXPECT_EQ(kinds.size(), model.replicas == 1 ? 32u : 33u);
  for (const auto& [kind, names] : kinds) {
    const Lines ours = among(names_in(model), names);
    EXPECT_EQ(ours.size(), names.size()) << kind;
    EXPECT_LE(farthest(ours, among(theirs, names)), 3) << kind;
  }
  both.erase("SGD/Cast/ReadVariableOp");  // fed; a file lists feeds after stored values
  EXPECT_EQ(farthest(among(names_in(model), both), among(theirs, both)), together);
}

TEST(KerasNames, ComeInTensorFlowsOrder) {
  for (int replicas : {1, 2}) {
    SCOPED_TRACE(replicas);
    const TrainingModel model = keras_names(published_step(replicas));
    verify(model);
    expect_order(model, replicas == 1 ? 12 : 19);
    const TemporaryFolder folder;
    save_model(model, folder / "step.onnx");
    expect_order(load_model(all_ops(), folder / "step.onnx").model, replicas == 1 ? 12 : 19);
  }
}

// -- models that differ only in names

TrainingModel small_step(int replicas, DType precision) {
  return build_data_parallel_model(all_ops(), resnet50_keras({.image = {3, 32, 32}, .classes = 5}),
                                   MomentumSgd{.momentum = 0.9F},
                                   {.replicas = replicas, .scope = "cpu", .precision = precision});
}

// The literals by the names of states, replica by replica.
std::map<std::string, std::vector<Literal>> by_state(const TrainingModel& model,
                                                     const StateValues& values) {
  std::map<std::string, std::vector<Literal>> states;
  for (const State& state : model.states)
    for (const std::string& value : state.values) states[state.name].push_back(values.at(value));
  return states;
}

const Dims kImage{3, 32, 32};

TEST(KerasNames, ChangeNoBitOfATraining) {
  for (int replicas : {1, 2})
    for (DType precision : {DType::float32, DType::bfloat16}) {
      SCOPED_TRACE(join(replicas, " replicas, ", precision));
      const TrainingModel plain = small_step(replicas, precision);
      const TrainingModel named = keras_names(small_step(replicas, precision));
      verify(named);
      ASSERT_TRUE(named.step.find(replicas == 1 ? "resnet50/conv1_conv/BiasAdd"
                                                : "cpu_1/resnet50/conv1_conv/BiasAdd"));
      const auto expected = by_state(plain, train(plain, 4, 2, kImage));
      EXPECT_EQ(by_state(named, train(named, 4, 2, kImage)), expected);
      const TemporaryFolder folder;
      save_model(named, folder / "step.onnx");
      const TrainingModel read = load_model(all_ops(), folder / "step.onnx").model;
      EXPECT_EQ(by_state(read, train(read, 4, 2, kImage)), expected) << "from a file";
    }
}

TEST(KerasNames, ResumeFromACheckpointOfThePlainStep) {
  const TrainingModel plain = small_step(2, DType::float32);
  const TrainingModel named = keras_names(small_step(2, DType::float32));
  const TemporaryFolder folder;
  const auto run = [&](const TrainingModel& model, int64_t from, int64_t to) {
    Session session(model, cpu_devices(2), all_kernels(), {.seed = 5, .threads = 1});
    session.initialise();
    if (from > 0) load_checkpoint(session, folder / "checkpoint.safetensors");
    StepFeeds feeds(model, 4, 5, kImage);
    for (int64_t step = from; step < to; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(step));
    if (from == 0) save_checkpoint(session, folder / "checkpoint.safetensors", {});
    return by_state(model, session.save());
  };
  run(plain, 0, 1);
  EXPECT_EQ(run(named, 1, 2), by_state(plain, train(plain, 4, 2, kImage)));
}

TEST(KerasNames, TrainOverSeveralProcesses) {
  const TrainingModel plain = small_step(2, DType::float32);
  const auto expected = by_state(plain, train(plain, 4, 2, kImage));
  run_ranks(2, [&](Comm& comm) {
    const TrainingModel part =
        partition(keras_names(small_step(2, DType::float32)), {comm.rank(), comm.size()});
    Session session(part, cpu_devices(1), all_kernels(), {.seed = 5, .threads = 1, .comm = &comm});
    session.initialise();
    StepFeeds feeds(part, 4, 5, kImage, 2);
    for (int64_t step = 0; step < 2; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(step));
    const auto found = by_state(part, session.save());
    for (const auto& [name, values] : expected)
      EXPECT_EQ(found.at(name).at(0), values.at(static_cast<std::size_t>(comm.rank()))) << name;
  });
}

// Later micro-batches, buckets and another optimiser are parts that TensorFlow's step lacks.
TEST(KerasNames, PartsWithoutACounterpartKeepTheirs) {
  const ModelFn network = resnet50_keras({.image = {3, 32, 32}, .classes = 5});
  const TrainingModel named = keras_names(
      build_data_parallel_model(all_ops(), network, MomentumSgd{},
                                {.replicas = 2,
                                 .scope = "cpu",
                                 .micro_batches = 2,
                                 .all_reduce = {.packing = parse_packing("ready:1M:25M")}}));
  verify(named);
  for (const char* name : {"cpu_1/resnet50/conv1_conv/BiasAdd", "cpu_1/micro_1/conv1_conv",
                           "cpu_0/SGD/SGD/update_213/ResourceApplyGradientDescent",
                           "cpu_0/DistributedGradientTape_Allreduce/cond/output/_6",
                           "cpu_0/conv1_conv/kernel_momentum"})
    EXPECT_TRUE(named.step.find(name)) << name;
  const TrainingModel frozen = keras_names(build_data_parallel_model(
      all_ops(), network, MomentumSgd{}, {.scope = "cpu", .frozen = {"conv1_*"}}));
  EXPECT_EQ(frozen.gradients.size(), 210u);
  EXPECT_TRUE(frozen.step.find("SGD/SGD/update_209/ResourceApplyGradientDescent"))
      << "the numbers are of trained variables";
  EXPECT_FALSE(frozen.step.find("SGD/SGD/update_210/ResourceApplyGradientDescent"));
}

TEST(KerasNames, OtherModelsHaveNone) {
  const auto named = [](const std::string& set, const std::string& network) {
    with_step_names(set, network, network.empty() ? "net.onnx" : network, small_mlp(1));
  };
  expect_error([&] { named("keras", "mlp"); }, "--names keras", "'mlp' has no names of this set",
               "resnet50_keras");
  expect_error([&] { named("keras", ""); }, "'net.onnx' has no names of this set",
               "resnet50_keras");
  expect_error([&] { named("kears", "resnet50_keras"); }, "--names", "'kears'",
               "did you mean 'keras'?");
  expect_error([&] { named("", "resnet50_keras"); }, "--names", "''", "known: keras");
}

}  // namespace
}  // namespace lockstep::testing
