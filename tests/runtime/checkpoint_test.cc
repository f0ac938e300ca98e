// SPDX-License-Identifier: Apache-2.0
// A session's state as a file: training continues with the same bits, or an error names the defect.
#include "lockstep/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "graph/file.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "runtime/dist/agree.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(Checkpoint, GoesOnWithTheSameBits) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(2);
  StepFeeds feeds(model, 8, 5, kSmall);
  auto steps = [&](Session& session, int from, int to) {
    for (int i = from; i < to; ++i) session.step().run(feeds.at(i, 0.1F), session.run_options(i));
  };
  Session whole(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  whole.initialise();
  steps(whole, 0, 4);
  save_checkpoint(whole, folder / "c", {{"steps", "4"}});
  steps(whole, 4, 9);
  Session resumed(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  EXPECT_EQ(load_checkpoint(resumed, folder / "c").at("steps"), "4");
  steps(resumed, 4, 9);
  EXPECT_TRUE(whole.save() == resumed.save());
}

TEST(Checkpoint, FitsAnotherNumberOfReplicas) {
  TemporaryFolder folder;
  TrainingModel two = small_mlp(2), four = small_mlp(4);
  Session from(two, cpu_devices(2), all_kernels(), {1, 1, {}});
  from.initialise();
  save_checkpoint(from, folder / "c", {});
  EXPECT_EQ(read_safetensors(folder / "c").tensors.count("fc1_w"), 1u);
  Session to(four, cpu_devices(4), all_kernels(), {2, 1, {}});
  load_checkpoint(to, folder / "c");
  EXPECT_TRUE(states_of(to).read("cpu_3/fc1_w") == states_of(from).read("cpu_0/fc1_w"));
}

TEST(Checkpoint, OfAnySizeIsPassedToOtherProcesses) {
  TemporaryFolder folder;
  constexpr int64_t kWide = 4200;  // 70 MB of weights and as much momentum
  const TrainingModel whole = build_data_parallel_model(
      all_ops(), mlp({.image = {1, 1, kWide}, .classes = 2, .hidden = {kWide}}), MomentumSgd{},
      {.replicas = 2, .scope = "cpu", .all_reduce = {.processes = 2}});
  run_ranks(2, [&](Comm& comm) {
    const TrainingModel model = partition(whole, {comm.rank(), 2});
    const SessionOptions options{1, 1, {}, &comm};
    Session from(model, cpu_devices(1), all_kernels(), options);
    from.initialise();
    save_checkpoint(from, folder / "c", {});
    Session to(model, cpu_devices(1), all_kernels(), options);
    load_checkpoint(to, folder / "c");
    EXPECT_TRUE(from.save() == to.save());
  });
  EXPECT_GT(std::filesystem::file_size(folder / "c"), kLongestText * 2);
}

// Deferred gradients are a sum over the replicas that made them. They would be wrong for another
// number of replicas.
TEST(Checkpoint, GivesWaitingGradientsToAsManyReplicasAlone) {
  TemporaryFolder folder;
  const auto model_of = [](int replicas) {
    return small_mlp(replicas, MomentumSgd{}, {.deferred = true});
  };
  for (const int from : {1, 2, 4}) {
    const TrainingModel model = model_of(from);
    StepFeeds feeds(model, 8, 5, kSmall);
    Session session(model, cpu_devices(from), all_kernels(), {1, 1, {}});
    session.initialise();
    session.step().run(feeds.at(0, 0.1F), session.run_options(0));
    save_checkpoint(session, folder / "c", {});
    for (const int to : {1, 2, 4}) {
      SCOPED_TRACE(join("from ", from, " to ", to));
      const TrainingModel other = model_of(to);
      Session resumed(other, cpu_devices(to), all_kernels(), {2, 1, {}});
      load_checkpoint(resumed, folder / "c");
      int waiting = 0;
      for (const State& state : other.states) {
        if (state.kind != StateKind::deferred) continue;
        for (std::size_t k = 0; k < state.values.size(); ++k) {
          const Literal found = states_of(resumed).read(state.values[k]);
          const Literal expected =
              from == to ? states_of(session).read(model.find_state(state.name)->values[k])
                         : Literal(found.dtype(), found.dims());
          EXPECT_TRUE(found == expected) << state.values[k];
          waiting += std::ranges::any_of(found.values<float>(), [](float x) { return x != 0; });
        }
      }
      EXPECT_EQ(waiting > 0, from == to);
    }
  }
}

TEST(Checkpoint, KeepsReplicasThatDiffer) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  Literal other = states_of(session).read("cpu_1/fc1_b");
  reinterpret_cast<float*>(other.bytes().data())[0] = 42;
  states_of(session).write("cpu_1/fc1_b", other);
  save_checkpoint(session, folder / "c", {});
  StateValues saved = session.save();
  session.initialise();
  load_checkpoint(session, folder / "c");
  EXPECT_TRUE(session.save() == saved);
}

TEST(Checkpoint, OfAnotherModelIsRefusedWhole) {
  TemporaryFolder folder;
  TrainingModel model = small_mlp(1), other = small_lenet(1);
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  session.initialise();
  Session of_other(other, cpu_devices(1), all_kernels(), {1, 1, {}});
  save_checkpoint(of_other, folder / "c", {});
  StateValues before = session.save();
  expect_error([&] { load_checkpoint(session, folder / "c"); }, "/c", "another model");
  EXPECT_TRUE(session.save() == before);
}

// This bit and 999 other bits, spread over the whole file and over its header.
TEST(Checkpoint, EachOfAThousandFlippedBitsIsNamed) {
  TemporaryFolder folder;
  const TrainingModel model = small_mlp(2);
  StepFeeds feeds(model, 8, 5, kSmall);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  for (int i = 0; i < 3; ++i) session.step().run(feeds.at(i, 0.1F), session.run_options(i));
  save_checkpoint(session, folder / "c", {{"steps", "3"}, {"threads", "1"}});
  const std::string whole = read_file(folder / "c");
  const StateValues before = session.save();
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  PhiloxSequence random(7, 0);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t reach = i % 2 == 0 ? whole.size() : header + sizeof header;
    const auto bit = static_cast<std::size_t>(random.below(static_cast<int64_t>(8 * reach)));
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    std::ofstream(folder / "flipped", std::ios::binary) << text;  // no sync, unlike write_file
    EXPECT_THROW(load_checkpoint(session, folder / "flipped"), Damaged) << "bit " << bit;
  }
  EXPECT_TRUE(session.save() == before);
  EXPECT_EQ(load_checkpoint(session, folder / "c").at("steps"), "3");
}

// The file's name always refers to a complete checkpoint, and a failed save keeps the old
// checkpoint.
TEST(Checkpoint, TheOneBeforeIsKept) {
  TemporaryFolder folder;
  const TrainingModel model = small_mlp(1);
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  session.initialise();
  const std::string path = folder / "c.safetensors", previous = folder / "c.previous.safetensors";
  EXPECT_EQ(previous_of(path), previous);
  auto save = [&](const std::string& steps, bool keep = true) {
    save_checkpoint(session, path, {{"steps", steps}}, {.keep_previous = keep});
  };
  auto steps_of = [](const std::string& file) { return checkpoint_metadata(file).at("steps"); };
  save("1");
  EXPECT_FALSE(std::filesystem::exists(previous));
  save("2");
  save("3");
  EXPECT_EQ(steps_of(previous), "2");
  EXPECT_EQ(steps_of(path), "3");
  save("4", false);
  EXPECT_EQ(steps_of(previous), "2");
  EXPECT_EQ(steps_of(path), "4");
  std::filesystem::create_directory(previous + ".tmp");
  expect_error([&] { save("5"); }, "c.previous.safetensors.tmp");
  EXPECT_EQ(steps_of(previous), "2");
  EXPECT_EQ(steps_of(path), "4");
  EXPECT_FALSE(std::filesystem::exists(path + ".next"));
}

// Replaces the file's metadata object by `metadata`.
std::string with_metadata(const std::string& text, const std::string& metadata) {
  uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  std::string header = text.substr(sizeof length, length);
  const std::string data = text.substr(sizeof length + length);
  const std::string before = "{\"__metadata__\":{";
  header.replace(before.size() - 1, header.find('}') + 2 - before.size(), metadata);
  length = header.size();
  std::string result(sizeof length, '\0');
  std::memcpy(result.data(), &length, sizeof length);
  return result + header + data;
}

TEST(Checkpoint, SaysItsFormat) {
  TemporaryFolder folder;
  const TrainingModel model = small_mlp(1);
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  session.initialise();
  save_checkpoint(session, folder / "c", {});
  EXPECT_FALSE(lacks_checksums(checkpoint_metadata(folder / "c")));
  const std::string text = read_file(folder / "c");
  const StateValues saved = session.save();
  auto load = [&](const std::string& metadata) {
    write_file(folder / "d", with_metadata(text, metadata));
    return load_checkpoint(session, folder / "d");
  };
  session.initialise();
  EXPECT_TRUE(lacks_checksums(load(R"({"format":"lockstep checkpoint 1"})")));
  EXPECT_TRUE(session.save() == saved);
  expect_error([&] { load(R"({"format":"lockstep checkpoint 2"})"); }, "checksum is missing");
  expect_error([&] { load("{}"); }, "/d", "its metadata has no format");
  expect_error([&] { load(R"({"format":"pt"})"); }, "/d", "'pt'", "lockstep checkpoint 2");
  write_safetensors(folder / "w", {}, {{"format", "lockstep checkpoint 3"}});
  expect_error([&] { load_checkpoint(session, folder / "w"); }, "/w", "'lockstep checkpoint 3'");
}

// A mask may be infinite, and a deferred gradient may be infinite for one step. A momentum never
// may.
TEST(Checkpoint, OfNumbersThatAreNoneIsNamed) {
  TemporaryFolder folder;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const TrainingModel model =
      small_mlp(1, MomentumSgd{}, {.deferred = true, .skip_non_finite = true});
  Session session(model, cpu_devices(1), all_kernels(), {1, 1, {}});
  auto first_of = [&](const std::string& name) -> float& {
    return *states_of(session).at("cpu_0/" + name).as<float>();
  };
  auto load = [&] {
    save_checkpoint(session, folder / "c", {});
    load_checkpoint(session, folder / "c");
  };
  session.initialise();
  std::string waiting;
  for (const State& state : model.states)
    if (state.kind == StateKind::deferred) waiting = state.name;
  first_of(waiting) = std::nanf("");
  first_of("fc1_w") = -kInfinity;
  EXPECT_EQ(lost_value(session), "");
  load();
  first_of("fc1_w") = std::nanf("");
  EXPECT_EQ(lost_value(session), "'cpu_0/fc1_w' is nan at [0,0]");
  expect_error(load, "/c", "'fc1_w' is nan at [0,0]");
  first_of("fc1_w") = 0;
  first_of("fc1_w_momentum") = kInfinity;
  EXPECT_THROW(load(), Damaged);
  expect_error(load, "/c", "'fc1_w_momentum' is inf at [0,0]");
}

// Names that a file would read as something else.
TEST(Checkpoint, RefusesNamesThatItCouldNotStore) {
  TemporaryFolder folder;
  const auto with = [](const std::vector<std::string>& names) {
    TrainingModel model(all_ops());
    for (const std::string& name : names) {
      model.step.input(name, {DType::float32, {2}});
      model.states.push_back({{name, {name}}, StateKind::weight});
    }
    return model;
  };
  const auto refused = [&](const std::vector<std::string>& names, const std::string& why) {
    const TrainingModel model = with(names);
    expect_error([&] { check_names_to_store(model); }, why);
    Session session(model, cpu_devices(1), all_kernels());
    expect_error([&] { save_checkpoint(session, folder / "c", {}); }, why);
    EXPECT_FALSE(std::filesystem::exists(folder / "c"));
  };
  refused({"b", "b@1"}, "'b@1' cannot be stored beside 'b'");
  refused({"w", "b@12", "b"}, "'b@12' cannot be stored beside 'b'");
  refused({"__metadata__"}, "'__metadata__' cannot be stored");
  check_names_to_store(with({"b@1", "c", "c@", "c@x", "c@0"}));
}

}  // namespace
}  // namespace lockstep::testing
