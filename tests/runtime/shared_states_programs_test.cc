// SPDX-License-Identifier: Apache-2.0
// Programs of a session that read, copy and change states that its replicas share.
#include <gtest/gtest.h>

#include "graph/passes/share.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"
#include "runtime/state/session_members.h"
#include "tests/support/sharing_training.h"

namespace lockstep::testing {
namespace {

using Training = SharingTraining;

// The first program that trains reads a frozen filter on each replica separately, since one of the
// filters is fetched. A fetched value is row-major, so the two layouts differ.
TEST(SharedStates, LieAsTheFirstProgramThatTrainsWishes) {
  for (const std::string fetched : {"cpu_0/a_conv1_w", "cpu_1/a_conv1_w"}) {
    const TrainingModel model = small_residual({.replicas = 2, .frozen = {"a_conv1_w"}});
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      const auto first =
          training->session.program(model.step, model.feed_values(), {fetched}, model.updates);
      first->run(training->feeds.at(0, 0.05F), training->session.run_options(0));
      training->run(1, 3);
      const int moves = states_of(training->session).moves();
      first->run(training->feeds.at(3, 0.05F), training->session.run_options(3));
      training->run(4, 5);
      EXPECT_EQ(states_of(training->session).moves(), moves);
    }
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// Initial values that depend on states use each replica's states.
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
    Literal value = states_of(training->session).read("cpu_1/fc1_b");
    reinterpret_cast<float*>(value.bytes().data())[0] = 8;
    states_of(training->session).write("cpu_1/fc1_b", value);
    training->session.initialise();
    EXPECT_EQ(states_of(training->session).read("cpu_1/fc1_b").values<float>()[0], 4);
    EXPECT_EQ(states_of(training->session).read("cpu_0/fc1_b").values<float>()[0], 0);
  }
  EXPECT_TRUE(shared.session.save() == apart.session.save());
}

// A different value on any single replica is detected.
TEST(SharedStates, AreNotThoseOfWhichOneReplicaMakesAnother) {
  for (const int odd : {-1, 0, 1, 2}) {
    Graph graph(all_ops(), "step");
    std::vector<std::string> names;
    std::vector<Binding> updates;
    for (int k = 0; k < 3; ++k) {
      ReplicaScope replica(graph, k);
      names.push_back(join("cpu_", k, "/w"));
      const Value old = graph.input(names.back(), {DType::float32, {4}});
      const Value made = scale(graph, old, k == odd ? 0.25F : 0.5F, names.back() + "_new");
      graph.output(made);
      updates.push_back({names.back(), graph.name(made)});
    }
    const Shared shared = share_states(std::move(graph), {.states = {names}}, updates, {});
    EXPECT_EQ(shared.states.size(), odd < 0 ? 1U : 0U) << odd;
    EXPECT_EQ(shared.updates.size(), odd < 0 ? 1U : 3U) << odd;
  }
}

// A program that writes the momentum of one replica only, and a program that writes both equally.
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
        if (step == 1) moves = states_of(training->session).moves();
      }
      EXPECT_EQ(states_of(training->session).moves(), moves) << "no plan is rebuilt in each round";
    }
    EXPECT_EQ(shared.are_one("pred_w_momentum"), changed == 2);
    EXPECT_EQ(shared.are_one("pred_w"), changed == 2) << "its update reads the momentum";
    EXPECT_TRUE(shared.are_one("fc1_w"));
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

// A program in which one replica computes the new momentum and the others copy it. A fetched copy
// stays a separate value.
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

// On each replica a parameter receives a copy of its old momentum. The momentum changes in the same
// step: by half, or to a copy of the old parameter.
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
        const Literal before = states_of(training->session).read("cpu_1/pred_w_momentum");
        exchange->run({}, {});
        EXPECT_TRUE(states_of(training->session).read("cpu_1/pred_w") == before);
      }
    }
    EXPECT_TRUE(shared.session.save() == apart.session.save()) << swapped;
  }
}

// The copy on one replica is no longer needed. A node that computes the same value as the update
// stays.
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

// A value that is read after a run must be computed on its replica.
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
