// Parameters that replicas keep once: the same bits, and the same files, as when each has its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "builders/all_reduce/packing.h"
#include "builders/all_reduce/spec.h"
#include "builders/optimizers/adam.h"
#include "builders/step/partition.h"
#include "graph/file.h"
#include "operators/collective/collective.h"
#include "operators/weighted/weighted.h"
#include "runtime/state/checkpoint.h"
#include "runtime/state/drift.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kClasses = 5, kBatch = 12;

struct Setting {
  bool fused = true;
  int threads = 1;
  Comm* comm = nullptr;
  int all_replicas = 0;  // of all processes
};

struct Training {
  Session session;
  StepFeeds feeds;

  Training(const TrainingModel& model, bool shares, const Setting& setting = {})
      : session(model, cpu_devices(model.replicas), all_kernels(),
                {.seed = 5,
                 .threads = setting.threads,
                 .compile = {.rewrites = setting.fused, .share = shares},
                 .comm = setting.comm}),
        feeds(model, kBatch, kClasses, kSmall, setting.all_replicas) {
    session.initialise();
  }
  void run(int64_t first, int64_t last) {
    for (int64_t step = first; step < last; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  }
  const Plan& plan() { return session.step().plan(feeds.at(0, 0.05F)); }
  bool are_one(const std::string& state) const {
    const std::vector<std::string>& names = session.model().find_state(state)->values;
    return std::ranges::all_of(names, [&](const std::string& name) {
      return session.state().at(name).data == session.state().at(names[0]).data;
    });
  }
};

TrainingModel network_of(bool convolves, const DataParallelOptions& options,
                         const Optimizer& optimizer) {
  return convolves ? small_residual(options, optimizer)
                   : small_mlp(options.replicas, optimizer, options);
}

struct Way {
  std::string name;
  DataParallelOptions options = {};
  Setting setting = {};
};

std::vector<Way> ways() {
  return {{"two", {.replicas = 2}},
          {"three of two threads", {.replicas = 3}, {.threads = 2}},
          {"six", {.replicas = 6}},
          {"not fused", {.replicas = 2}, {.fused = false}},
          {"micro-batches", {.replicas = 2, .micro_batches = 2}},
          {"deferred", {.replicas = 2, .deferred = true}},
          {"skips", {.replicas = 2, .skip_non_finite = true}},
          {"clipped", {.replicas = 3, .clip = {.norm = 0.5F}}},
          {"frozen", {.replicas = 2, .frozen = {"pred_b", "*1_w"}}},
          {"bfloat16", {.replicas = 2, .precision = DType::bfloat16}},
          {"bfloat16, frozen",
           {.replicas = 3, .frozen = {"pred_b", "*1_w"}, .precision = DType::bfloat16}},
          {"bfloat16, not fused", {.replicas = 2, .precision = DType::bfloat16}, {.fused = false}},
          {"bfloat16, deferred, micro-batches",
           {.replicas = 2, .micro_batches = 2, .deferred = true, .precision = DType::bfloat16}},
          {"float16, skips", {.replicas = 2, .skip_non_finite = true, .precision = DType::float16}},
          {"two rings", {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("xring#2")}}},
          {"to the first and back",
           {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("simple")}}},
          {"halving and doubling, not fused",
           {.replicas = 4, .all_reduce = {.spec = parse_all_reduce("rechd")}},
           {.fused = false}},
          {"by size, in buckets",
           {.replicas = 3,
            .all_reduce = {.spec = parse_all_reduce("pscpu:1k:hierarchical_copy"),
                           .packing = parse_packing("ready:1k:8k"),
                           .pieces = 2}}}};
}

TEST(SharedStates, GiveTheBitsOfStatesOfEachReplica) {
  for (const Way& way : ways())
    for (const bool convolves : {false, true})
      for (const bool adam : {false, true}) {
        SCOPED_TRACE(
            join(way.name, convolves ? ", convolutions" : ", products", adam ? ", Adam" : ""));
        const Optimizer optimizer = adam ? Optimizer(Adam{}) : Optimizer(MomentumSgd{});
        const TrainingModel model = network_of(convolves, way.options, optimizer);
        Training shared(model, true, way.setting), apart(model, false, way.setting);
        shared.run(0, 4);
        apart.run(0, 4);
        EXPECT_TRUE(shared.session.save() == apart.session.save());
        EXPECT_EQ(find_drift(shared.session), "");
        EXPECT_TRUE(shared.are_one(model.states.front().name));
      }
}

TEST(SharedStates, OfEachOfSeveralProcessesHaveTheSameBits) {
  for (const std::string spec : {"collective", "pscpu/pscpu", "nccl/xring", "simple", "xring"})
    for (const DType precision : {DType::float32, DType::bfloat16}) {
      SCOPED_TRACE(join(spec, " in ", precision));
      const TrainingModel whole =
          small_residual({.replicas = 4,
                          .precision = precision,
                          .all_reduce = {.spec = parse_all_reduce(spec), .processes = 2}});
      run_ranks(2, [&](Comm& comm) {
        const TrainingModel model = partition(whole, {comm.rank(), 2});
        const Setting setting{.comm = &comm, .all_replicas = 4};
        Training shared(model, true, setting), apart(model, false, setting);
        shared.run(0, 3);
        apart.run(0, 3);
        EXPECT_TRUE(shared.session.save() == apart.session.save());
        // What a message brings is like nothing else. "simple" sends the second process a message
        // for each replica; in a ring, a part that one replica made comes back to another by one.
        const bool shares = spec == "simple" ? comm.rank() == 0 : spec != "xring";
        EXPECT_EQ(shared.are_one(model.states.front().name), shares);
      });
    }
}

TEST(SharedStates, LieInOneMemoryUnlessEachReplicaComputesItsOwn) {
  const TrainingModel model = small_residual({.replicas = 2});
  Training shared(model, true), apart(model, false);
  shared.run(0, 1);
  apart.run(0, 1);
  int computed = 0;
  for (const State& state : model.states) {
    computed += state.kind == StateKind::computed;
    EXPECT_EQ(shared.are_one(state.name), state.kind != StateKind::computed) << state.name;
    EXPECT_FALSE(apart.are_one(state.name)) << state.name;
  }
  EXPECT_GT(computed, 0);
}

// Bytes of new states that each worker makes.
std::vector<std::size_t> updated_bytes(const Plan& plan) {
  std::vector<std::size_t> bytes(plan.workers.size(), 0);
  std::set<int> seen;
  for (const PlanStep& step : plan.steps)
    for (const int slot : step.out) {
      if (slot < 0) continue;
      const Slot& made = plan.slots[static_cast<std::size_t>(slot)];
      if (made.lives != Lives::in_state || made.index >= static_cast<int>(plan.session_states()))
        continue;
      EXPECT_TRUE(seen.insert(made.index).second) << made.name << " is made twice";
      bytes[static_cast<std::size_t>(step.worker)] += made.desc.bytes();
    }
  return bytes;
}

TEST(SharedStates, AreUpdatedOnceAndInEqualPartsByAllReplicas) {
  for (const int replicas : {2, 3}) {
    const TrainingModel model = small_residual({.replicas = replicas});
    Training shared(model, true), apart(model, false);
    const std::vector<std::size_t> parts = updated_bytes(shared.plan()),
                                   whole = updated_bytes(apart.plan());
    const auto [least, most] = std::ranges::minmax_element(parts);
    EXPECT_GT(*least, whole[0] / static_cast<std::size_t>(2 * replicas));
    EXPECT_LT(*most, 2 * whole[0] / static_cast<std::size_t>(replicas));
    for (const PlanStep& step : shared.plan().steps)
      EXPECT_NE(step.type, "CopyToState") << step.name;
    EXPECT_LT(shared.plan().steps.size(), apart.plan().steps.size());
  }
}

TEST(SharedStates, AreSeparatedByAValueForOneReplica) {
  for (const std::string changed : {"cpu_0/fc1_w", "cpu_1/fc1_w"}) {
    const TrainingModel model = small_mlp(2);
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      training->run(0, 2);
      Literal value = training->session.state().read(changed);
      training->session.state().write(changed, value);  // nothing new
      EXPECT_EQ(find_drift(training->session), "");
      reinterpret_cast<float*>(value.bytes().data())[1] += 1;
      training->session.state().write(changed, value);
      EXPECT_EQ(find_drift(training->session), "'cpu_1/fc1_w' differs from 'cpu_0/fc1_w'");
      training->run(2, 4);
      EXPECT_NE(find_drift(training->session), "");
    }
    EXPECT_FALSE(shared.are_one("fc1_w"));
    EXPECT_TRUE(shared.are_one("fc1_b"));
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

TEST(SharedStates, StayTogetherWhenAllReplicasAreLoaded) {
  const TemporaryFolder folder;
  const TrainingModel model = small_residual({.replicas = 2, .precision = DType::bfloat16});
  Training whole(model, true), resumed(model, true), late(model, true), apart(model, false);
  whole.run(0, 2);
  save_checkpoint(whole.session, folder / "shared", {});
  late.run(0, 5);
  const int moves = late.session.state().moves();
  for (Training* training : {&resumed, &late, &apart})
    load_checkpoint(training->session, folder / "shared");
  EXPECT_EQ(late.session.state().moves(), moves);
  for (Training* training : {&whole, &resumed, &late, &apart}) training->run(2, 4);
  for (Training* training : {&resumed, &late, &apart})
    EXPECT_TRUE(training->session.save() == whole.session.save());
  save_checkpoint(whole.session, folder / "shared", {});
  save_checkpoint(apart.session, folder / "apart", {});
  EXPECT_EQ(read_file(folder / "shared"), read_file(folder / "apart"));
}

TEST(SharedStates, AreOneAgainAfterInitialValues) {
  const TrainingModel model = small_mlp(2);
  Training shared(model, true), apart(model, false);
  for (Training* training : {&shared, &apart}) {
    training->run(0, 2);
    Literal value = training->session.state().read("cpu_1/pred_b");
    reinterpret_cast<float*>(value.bytes().data())[0] = 9;
    training->session.state().write("cpu_1/pred_b", value);
    training->run(2, 3);
    training->session.initialise();
    training->run(0, 2);
  }
  EXPECT_TRUE(shared.are_one("pred_b"));
  EXPECT_TRUE(shared.session.save() == apart.session.save());
}

// Each replica then has another rate, as it would if it had its own parameters.
TEST(SharedStates, AreSeparatedByDifferentRates) {
  const float rates[] = {0.05F, 0.5F};
  for (const bool other_program : {false, true}) {
    const TrainingModel model = small_mlp(2);
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      training->run(0, 2);
      std::span<const Tensor> fed = training->feeds.at(2, 0.05F);
      std::vector<Tensor> feeds(fed.begin(), fed.end());
      for (std::size_t i = 0; i < feeds.size(); ++i)
        for (std::size_t k = 0; k < 2; ++k)
          if (model.feed_values()[i] == join("cpu_", k, "/lr"))
            feeds[i].data = const_cast<float*>(&rates[k]);
      const auto other = training->session.program(model.step, model.feed_values(),
                                                   model.fetch_values(), model.updates);
      Program& program = other_program ? *other : training->session.step();
      program.run(feeds, training->session.run_options(2));
      EXPECT_NE(find_drift(training->session), "");
      training->run(3, 5);
    }
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// The first program that trains reads a frozen filter of each replica for itself, since one is
// fetched: as a fetched value is row-major, they lie differently.
TEST(SharedStates, LieAsTheFirstProgramThatTrainsWishes) {
  for (const std::string fetched : {"cpu_0/a_conv1_w", "cpu_1/a_conv1_w"}) {
    const TrainingModel model = small_residual({.replicas = 2, .frozen = {"a_conv1_w"}});
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      const auto first =
          training->session.program(model.step, model.feed_values(), {fetched}, model.updates);
      first->run(training->feeds.at(0, 0.05F), training->session.run_options(0));
      training->run(1, 3);
      const int moves = training->session.state().moves();
      first->run(training->feeds.at(3, 0.05F), training->session.run_options(3));
      training->run(4, 5);
      EXPECT_EQ(training->session.state().moves(), moves);
    }
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// Initial values that are made of states take those of each replica.
TEST(SharedStates, AreNotThoseOfInitialValuesThatReadThem) {
  TrainingModel model = small_mlp(2);
  Graph init(all_ops(), "init");
  for (int k = 0; k < 2; ++k) {
    const std::string name = join("cpu_", k, "/fc1_b");
    ReplicaScope replica(init, k);
    const Value old = init.input(name, model.step.type(model.step.at(name)));
    init.output(scale(init, old, 0.5F, name + "_half"));
    for (Binding& one : model.initial)
      if (one.state == name) one.value = name + "_half";
  }
  std::erase_if(model.initial, [](const Binding& one) { return !one.value.ends_with("_half"); });
  model.init = std::move(init);
  Training shared(model, true), apart(model, false);
  for (Training* training : {&shared, &apart}) {
    Literal value = training->session.state().read("cpu_1/fc1_b");
    reinterpret_cast<float*>(value.bytes().data())[0] = 8;
    training->session.state().write("cpu_1/fc1_b", value);
    training->session.initialise();
    EXPECT_EQ(training->session.state().read("cpu_1/fc1_b").values<float>()[0], 4);
    EXPECT_EQ(training->session.state().read("cpu_0/fc1_b").values<float>()[0], 0);
  }
  EXPECT_TRUE(shared.session.save() == apart.session.save());
}

// A program that writes the momentum of one replica alone, and one that writes both alike.
TEST(SharedStates, AreSeparatedByAProgramThatChangesOneReplica) {
  for (const int changed : {1, 2}) {
    const TrainingModel model = small_mlp(2);
    Graph graph(all_ops(), "halve");
    std::vector<Binding> updates;
    for (int k = 2 - changed; k < 2; ++k) {
      const std::string name = join("cpu_", k, "/pred_w_momentum");
      ReplicaScope replica(graph, k);
      const Value old = graph.input(name, model.step.type(model.step.at(name)));
      graph.output(scale(graph, old, 0.5F, name + "_half"));
      updates.push_back({name, name + "_half"});
    }
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      const auto halve = training->session.program(graph, {}, {}, updates);
      int moves = 0;
      for (int64_t step = 0; step < 4; ++step) {
        training->run(step, step + 1);
        halve->run({}, {});
        if (step == 1) moves = training->session.state().moves();
      }
      EXPECT_EQ(training->session.state().moves(), moves) << "no plan is made anew in each turn";
    }
    EXPECT_EQ(shared.are_one("pred_w_momentum"), changed == 2);
    EXPECT_EQ(shared.are_one("pred_w"), changed == 2) << "its update reads the momentum";
    EXPECT_TRUE(shared.are_one("fc1_w"));
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// A program in which one replica makes the new momentum, and the others copy it. A copy that is
// fetched stays a value of its own.
TEST(SharedStates, AreThoseThatReplicasCopyFromOne) {
  for (const std::string fetched : {"", "copy_1", "copy_2"}) {
    const TrainingModel model = small_mlp(3);
    Graph graph(all_ops(), "halve");
    const std::string name = "pred_w_momentum";
    std::vector<Value> made;
    std::vector<Binding> updates;
    for (int k = 0; k < 3; ++k) {
      const std::string here = join("cpu_", k, "/", name);
      ReplicaScope replica(graph, k);
      const Value old = graph.input(here, model.step.type(model.step.at(here)));
      const Value read = scale(graph, old, 0.25F, join("read_", k));  // still the old momentum
      made.push_back(k == 0 ? scale(graph, old, 0.5F, "half") : copy(graph, made.back()));
      if (k > 0) graph.rename(made.back(), join("copy_", k));
      graph.output(made.back());
      graph.output(read);
      updates.push_back({here, graph.name(made.back())});
    }
    std::vector<std::string> fetches{"read_0", "read_1", "read_2"};
    if (!fetched.empty()) fetches.push_back(fetched);
    Training shared(model, true), apart(model, false);
    std::vector<std::vector<float>> of_shared, of_apart;
    for (Training* training : {&shared, &apart}) {
      const auto halve = training->session.program(graph, {}, fetches, updates);
      for (int64_t step = 0; step < 3; ++step) {
        training->run(step, step + 1);
        for (const Tensor& one : halve->run({}, {}))
          (training == &shared ? of_shared : of_apart)
              .emplace_back(one.as<float>(), one.as<float>() + one.count());
      }
    }
    EXPECT_TRUE(shared.are_one(name)) << fetched;
    EXPECT_EQ(of_shared, of_apart);
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// On each replica a parameter takes a copy of its old momentum, which changes in the same step: by
// half, or to a copy of the old parameter.
TEST(SharedStates, TakeCopiesOfOldValues) {
  for (const bool swapped : {false, true}) {
    const TrainingModel model = small_mlp(2);
    Graph graph(all_ops(), "exchange");
    std::vector<Binding> updates;
    for (int k = 0; k < 2; ++k) {
      const std::string w = join("cpu_", k, "/pred_w"), momentum = w + "_momentum";
      ReplicaScope replica(graph, k);
      const Value old_w = graph.input(w, model.step.type(model.step.at(w)));
      const Value old_momentum = graph.input(momentum, graph.type(old_w));
      const Value new_w = copy(graph, old_momentum);
      const Value new_momentum = swapped ? copy(graph, old_w) : scale(graph, old_momentum, 0.5F);
      for (const Value made : {new_w, new_momentum}) graph.output(made);
      updates.push_back({momentum, graph.name(new_momentum)});
      updates.push_back({w, graph.name(new_w)});
    }
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      const auto exchange = training->session.program(graph, {}, {}, updates);
      for (int64_t step = 0; step < 3; ++step) {
        training->run(step, step + 1);
        const Literal before = training->session.state().read("cpu_1/pred_w_momentum");
        exchange->run({}, {});
        EXPECT_TRUE(training->session.state().read("cpu_1/pred_w") == before);
      }
    }
    EXPECT_TRUE(shared.session.save() == apart.session.save()) << swapped;
  }
}

// The copy that one replica took is not needed any more. A node that computes the same as the
// update stays as it is.
TEST(SharedStates, AreNotReadFromACopyThatGoesAway) {
  for (const int reader : {0, 1}) {
    const TrainingModel model = small_mlp(2);
    Graph graph(all_ops(), "halve");
    std::vector<Value> old;
    for (int k = 0; k < 2; ++k) {
      const std::string name = join("cpu_", k, "/pred_w_momentum");
      ReplicaScope replica(graph, k);
      old.push_back(graph.input(name, model.step.type(model.step.at(name))));
    }
    const auto on = [&](int k, const auto& make) {
      ReplicaScope replica(graph, k);
      return make();
    };
    const Value half = on(0, [&] { return scale(graph, old[0], 0.5F, "half"); });
    const Value taken = on(1, [&] { return copy(graph, half); });
    const Value seen = on(reader, [&] {
      const Value same = scale(graph, old[static_cast<std::size_t>(reader)], 0.5F, "same");
      return scale(graph, same, 3.0F, "seen");
    });
    for (const Value made : {half, taken, seen}) graph.output(made);
    const std::vector<Binding> updates{{"cpu_0/pred_w_momentum", "half"},
                                       {"cpu_1/pred_w_momentum", graph.name(taken)}};
    Training shared(model, true), apart(model, false);
    std::vector<std::vector<float>> of_shared, of_apart;
    for (Training* training : {&shared, &apart}) {
      const auto halve = training->session.program(graph, {}, {"seen"}, updates);
      for (int64_t step = 0; step < 2; ++step) {
        training->run(step, step + 1);
        const Tensor& made = halve->run({}, {})[0];
        (training == &shared ? of_shared : of_apart)
            .emplace_back(made.as<float>(), made.as<float>() + made.count());
      }
    }
    EXPECT_EQ(of_shared, of_apart);
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// A value that is read after a run must be made on its replica.
TEST(SharedStates, AreNotThoseWhoseNewValuesAreFetched) {
  const TrainingModel model = small_mlp(2);
  Training shared(model, true), apart(model, false);
  std::vector<std::vector<float>> fetched;
  for (Training* training : {&shared, &apart}) {
    const auto step = training->session.program(model.step, model.feed_values(),
                                                {"cpu_1/pred_b_new", "cpu_0/fc1_w"}, model.updates);
    for (int64_t number = 0; number < 3; ++number) {
      const auto made =
          step->run(training->feeds.at(number, 0.05F), training->session.run_options(0));
      for (const Tensor& one : made)
        fetched.emplace_back(one.as<float>(), one.as<float>() + one.count());
      training->run(number, number + 1);
    }
  }
  EXPECT_FALSE(shared.are_one("pred_b"));
  EXPECT_FALSE(shared.are_one("fc1_w"));
  EXPECT_TRUE(shared.are_one("fc2_w"));
  EXPECT_TRUE(std::equal(fetched.begin(), fetched.begin() + 6, fetched.begin() + 6, fetched.end()));
  EXPECT_TRUE(shared.session.save() == apart.session.save());
}

}  // namespace
}  // namespace lockstep::testing
