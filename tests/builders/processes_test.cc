// SPDX-License-Identifier: Apache-2.0
// Every all-reduce algorithm over several processes.
#include <gtest/gtest.h>

#include <thread>

#include "graph/passes/replicate.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "operators/collective/collective.h"
#include "runtime/dist/gloo.h"
#include "runtime/dist/store.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/sums.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

struct WholeSum {
  std::string spec;
  int replicas;
  int64_t length;
  TrainingModel whole;
  std::vector<float> expected;
};

// Built and summed once rather than by each rank.
std::vector<WholeSum> whole_sums(int fewest_replicas) {
  std::vector<WholeSum> sums;
  for (const std::string& spec : kAlgorithms)
    for (int replicas : {2, 3, 4, 5, 7, 8, 16}) {
      if (replicas < fewest_replicas) continue;
      for (int64_t length : {0, 1, 3, 7, 1000, 65537}) {
        TrainingModel whole = sum_model(spec, replicas, length);
        auto expected = sums_of(whole, {0, length})[0];
        sums.push_back({spec, replicas, length, std::move(whole), std::move(expected)});
      }
    }
  return sums;
}

// The sums of algorithms that are graphs do not depend on the number of processes, to the bit.
// `collective` sums within each process first; with one replica per process, its bits are equal,
// too.
void sum_over(int processes) {
  const std::vector<WholeSum> sums = whole_sums(processes);
  run_ranks(processes, [&](Comm& comm) {
    const ProcessShare own{comm.rank(), comm.size()};
    for (const auto& [spec, replicas, length, whole, expected] : sums) {
      SCOPED_TRACE(join(spec, " on ", replicas, " replicas of ", length));
      const TrainingModel part = partition(whole, own);
      const int first = replicas * own.rank / processes;
      const auto found = sums_of(part, {first, length, &comm});

      const bool exact = !sums_within_first(spec) || replicas == processes;
      for (const auto& sum : found) {
        ASSERT_EQ(sum, found[0]) << "replicas differ";
        if (exact) {
          ASSERT_EQ(sum, expected);
        } else {
          for (std::size_t i = 0; i < sum.size(); ++i)
            ASSERT_NEAR(sum[i], expected[i], 1e-6F * static_cast<float>(replicas));
        }
      }
    }
  });
}

// Repeated on a narrow wire. Sums within a process by `collective` are not narrowed.
TEST(Processes, EveryAlgorithmOnANarrowWire) {
  run_ranks(2, [&](Comm& comm) {
    const ProcessShare own{comm.rank(), comm.size()};
    for (const char* wire : {"float16", "bfloat16"})
      for (const std::string& spec : kAlgorithms)
        for (int replicas : {2, 3, 4})
          for (int64_t length : {0, 7, 1000}) {
            SCOPED_TRACE(join(spec, " on ", replicas, " replicas of ", length, " ", wire));
            if (replicas < 4 && spec == "xring#2") continue;
            const TrainingModel whole = sum_model(spec, replicas, length, wire);
            const auto found =
                sums_of(partition(whole, own), {replicas * own.rank / 2, length, &comm});
            const auto expected = sums_of(whole, {0, length})[0];
            const bool exact = !sums_within_first(spec);
            for (const auto& sum : found) {
              ASSERT_EQ(sum, found[0]) << "replicas differ";
              for (std::size_t i = 0; i < sum.size(); ++i)
                ASSERT_NEAR(sum[i], expected[i], exact ? 0 : 0.016F * static_cast<float>(replicas));
            }
          }
  });
}

// Asynchronous devices sum over processes with the bits of CPUs, recorded or not. Also tested with
// several devices per process, and with several replicas per device.
TEST(Processes, EveryAlgorithmOnDevicesWithQueues) {
  run_ranks(2, [&](Comm& comm) {
    const ProcessShare own{comm.rank(), comm.size()};
    for (const std::string& spec : kAlgorithms)
      for (int replicas : {2, 3, 4})
        for (int64_t length : {0, 7, 1000}) {
          SCOPED_TRACE(join(spec, " on ", replicas, " replicas of ", length));
          if (replicas < 4 && spec == "xring#2") continue;
          const TrainingModel part = partition(sum_model(spec, replicas, length), own);
          const int first = replicas * own.rank / 2;
          const auto expected = sums_of(part, {first, length, &comm});
          const auto all_on_one = parse_devices(join("gpu:3*", part.replicas));
          EXPECT_EQ(
              sums_of(part, {first, length, &comm, gpu_devices(part.replicas), &queued_kernels()}),
              expected);
          EXPECT_EQ(sums_of(part, {first, length, &comm, all_on_one, &queued_kernels()}), expected);
        }
  });
}

TrainingModel gather_model(int replicas, int64_t length) {
  Graph one(all_ops());
  const Value x = neg(one, one.input("x", {DType::float32, {length}}), "negative");
  one.output(all_gather(one, {x}, {replicas}, {"joined"})[0]);
  TrainingModel model(all_ops());
  model.replicas = replicas;
  model.step = replicate(one, replicas, "cpu");
  Replicated fed{"x", {}}, joined{"joined", {}};
  for (int k = 0; k < replicas; ++k) {
    fed.values.push_back(join("cpu_", k, "/x"));
    joined.values.push_back(join("cpu_", k, "/joined"));
  }
  model.inputs.push_back({fed});
  model.metrics.push_back(joined);
  return model;
}

// All replicas' values in order, for any number of replicas per process.
TEST(Processes, AllGatherJoinsInReplicaOrder) {
  for (int processes : {2, 3})
    run_ranks(processes, [&](Comm& comm) {
      const ProcessShare own{comm.rank(), comm.size()};
      for (int replicas : {2, 3, 4, 5, 7})
        for (int64_t length : {0, 1, 7, 70000}) {
          if (replicas < processes) continue;
          SCOPED_TRACE(join(replicas, " replicas of ", length, " on ", processes));
          const TrainingModel whole = gather_model(replicas, length);
          const TrainingModel part = partition(whole, own);
          const int first = replicas * own.rank / processes;
          const auto expected = sums_of(whole, {0, length})[0];
          ASSERT_EQ(static_cast<int64_t>(expected.size()), replicas * length);
          const auto queued =
              sums_of(part, {first, length, &comm, gpu_devices(part.replicas), &queued_kernels()});
          for (const auto& list : {sums_of(part, {first, length, &comm}), queued})
            for (const auto& joined : list) ASSERT_EQ(joined, expected);
        }
    });
}

// An exchange between devices has the timeout of messages, and the error names the lost process.
TEST(Processes, AnExchangeOfDevicesThatDoesNotComeIsNamed) {
  const auto never = [] { return false; };
  expect_error(
      [&] {
        run_ranks(
            2,
            [&](Comm& comm) {
              comm.at_step(7);
              if (comm.rank() == 0) comm.wait_until(never, "the step's sums");
              fail("its device is lost");
            },
            Milliseconds(20'000));
      },
      "step 7: cannot exchange 'the step's sums' with all others", "rank 1 (host ",
      "gave up: its device is lost");
  // Both processes are running, but neither finishes. The error comes within the timeout and names
  // the process.
  expect_error(
      [&] {
        run_ranks(
            2,
            [&](Comm& comm) {
              comm.at_step(8);
              comm.wait_until(never, "the step's sums");
            },
            Milliseconds(500));
      },
      "all ranks wait for each other in step 8", "waited 0.5 s for 'the step's sums'");
  // Rank 1 has not reached this step.
  expect_error(
      [&] {
        run_ranks(
            2,
            [&](Comm& comm) {
              comm.at_step(comm.rank() == 0 ? 9 : 8);
              if (comm.rank() == 0) comm.wait_until(never, "the step's sums");
              char byte = 0;
              Transfer& transfer = comm.receiving(0, 1, "a byte");
              transfer.start(&byte, 1);
              transfer.wait();
            },
            Milliseconds(500));
      },
      "rank 1 (host ", "responds, but is busy with something else in step 8");
}

// A process that has ended sends no heartbeat, and is not blamed.
TEST(Processes, OneThatHasLeftIsNotBlamedForItsSilence) {
  expect_error(
      [&] {
        run_ranks(
            3,
            [&](Comm& comm) {
              comm.at_step(4);
              if (comm.rank() == 1) std::this_thread::sleep_for(Milliseconds(4000));
              if (comm.rank() < 2) return;
              char byte = 0;
              Transfer& transfer = comm.receiving(1, 1, "a byte");
              transfer.start(&byte, 1);
              transfer.wait();
            },
            Milliseconds(500));
      },
      "because rank 1 (host ", "responds, but is busy with something else in step 4; rank 2");
  // At a common meeting point, the absent process is blamed.
  expect_error(
      [&] {
        run_ranks(
            3,
            [&](Comm& comm) {
              comm.at_step(5);
              if (comm.rank() != 1) comm.wait_until([] { return false; }, "the step's sums");
            },
            Milliseconds(500));
      },
      "because rank 1 (host ", "has left the run in step 5; rank ");
}

// The errors of ranks 0 and 1 when they cannot all connect. Rank 1 has the longer timeout, so rank
// 0 finds the reason.
std::vector<std::string> refusals(const World& world, const std::string& address_of_1) {
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank : {0, 1})
    threads.emplace_back([&, rank] {
      World own = world;
      own.rank = rank;
      own.patience += rank * Milliseconds(4000);
      own.address = rank == 1 ? address_of_1 : "127.0.0.1";
      try {
        join_world(own);
      } catch (const Error& error) {
        errors[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void expect_rank_2_named(const std::vector<std::string>& errors, const std::string& why) {
  EXPECT_EQ(errors[0], errors[1]);
  const std::string start =
      "step 0: cannot exchange 'addresses' with all others, because rank 2 (host nowhere, process "
      "77) ";
  EXPECT_EQ(errors[0].rfind(start + why, 0), 0U) << errors[0];
}

std::unique_ptr<Store> join_as_rank_2(std::unique_ptr<Store> store) {
  store->stand_for(2);
  store->set("member/2", "3 77 nowhere");
  return store;
}

// Rank 2 joins and is stopped before it connects. Both others report the same error.
TEST(Processes, OneThatDoesNotConnectIsNamedAlike) {
  TemporaryFolder folder;
  const World world{0, 3, "file://" + (folder / "store"), "", Milliseconds(1000)};
  join_as_rank_2(file_store(folder / "store"));
  expect_rank_2_named(refusals(world, "127.0.0.1"), "does not respond");
}

TEST(Processes, OneThatDoesNotConnectIsNamedAlikeOverTcp) {
  for (const bool killed : {false, true}) {
    const World world{0, 3, tcp_store_here(), "", Milliseconds(killed ? 8000 : 1000)};
    std::unique_ptr<Store> store;
    std::thread rank_2([&] {
      const int port = std::stoi(world.store.substr(world.store.rfind(':') + 1));
      store = join_as_rank_2(reach_store({"127.0.0.1", port}, Milliseconds(5000), kTestToken));
      std::this_thread::sleep_for(Milliseconds(500));
      if (killed) store.reset();
    });
    const auto errors = refusals(world, "127.0.0.1");
    rank_2.join();
    expect_rank_2_named(errors, killed ? "ended without a message" : "does not respond");
  }
}

// Rank 1 wrote an invalid address.
TEST(Processes, AddressesThatAreNoneAreNamed) {
  TemporaryFolder folder;
  const auto store = file_store(folder / "store");
  for (const auto& [key, value] : {std::pair{"member/1", "2 77 nowhere"},
                                   {"gloo/rank_1", "nowhere"},
                                   {"gloo/1", "gar\x1b[2Jbage"}})
    store->set(key, value);
  expect_error(
      [&] {
        join_world({0, 2, "file://" + (folder / "store"), "127.0.0.1", Milliseconds(5000)});
      },
      "cannot connect to all others: rank 1 has addresses of 11 bytes, not of ");
}

// Reads the same values as the others, but has another secret.
class Eavesdropper final : public Store {
 public:
  explicit Eavesdropper(const std::string& folder) : store_(file_store(folder)) {}
  void set(const std::string& key, const std::string& value) override { store_->set(key, value); }
  bool add(const std::string& key, const std::string& value) override {
    return store_->add(key, value);
  }
  std::optional<std::string> get(const std::string& key) override {
    return key == "links" ? "guessed" : store_->get(key);
  }

 private:
  std::unique_ptr<Store> store_;
};

// Gloo accepts the first process that connects.
TEST(Processes, WhoConnectsInAnothersPlaceIsNotTakenForIt) {
  TemporaryFolder folder;
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank : {0, 1})
    threads.emplace_back([&, rank] {
      std::unique_ptr<Store> store = file_store(folder / "store");
      if (rank == 1) store = std::make_unique<Eavesdropper>(folder / "store");
      try {
        connect_gloo(std::move(store),
                     {rank, {{0, "here", 77}, {1, "there", 78}}, "127.0.0.1", Milliseconds(5000)});
      } catch (const Error& error) {
        errors[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    EXPECT_NE(error.find("does not know the secret of the run"), std::string::npos) << error;
}

// 192.0.2.7 belongs to no machine.
TEST(Processes, OneThatCannotConnectSaysWhy) {
  TemporaryFolder folder;
  const auto errors =
      refusals({0, 2, "file://" + (folder / "store"), "", Milliseconds(5000)}, "192.0.2.7");
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(errors[0].find("at 192.0.2.7 cannot connect to all others: "), std::string::npos)
      << errors[0];
}

// Rank 0, which serves the store, is done; the others continue.
TEST(Processes, Rank0StaysForTheOthers) {
  run_ranks(
      3,
      [](Comm& comm) {
        if (comm.rank() == 0) return;
        char byte = 'a';
        Transfer& transfer =
            comm.rank() == 1 ? comm.sending(2, 1, "a byte") : comm.receiving(1, 1, "a byte");
        for (int time = 0; time < 5; ++time) {
          std::this_thread::sleep_for(Milliseconds(200));
          transfer.start(&byte, 1);
          transfer.wait();
        }
      },
      Milliseconds(20'000), tcp_store_here());
}

TEST(Processes, EveryAlgorithmOverTwoProcesses) { sum_over(2); }
TEST(Processes, EveryAlgorithmOverFourProcesses) { sum_over(4); }

}  // namespace
}  // namespace lockstep::testing
