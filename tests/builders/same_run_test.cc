// SPDX-License-Identifier: Apache-2.0
// A run gives the same results for any distribution of its replicas over processes. Every kind of
// network is trained in every way, saved and resumed in the middle, and compared with one process.
//
// Results that may differ in the last bit, and the reason:
//   `collective` on 2 processes of 2    sums within each process first: another order of four terms
//   synchronised batch norm there       its means are `collective` sums for any sum of gradients;
//                                       a value that moves across the corner of a ReLU changes a
//                                       gradient by more than a last bit
//   both with float16                   a last bit of float32 decides the rounding to 16 bits
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

#include "graph/file.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/shared_statistics.h"
#include "tests/support/networks.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kSteps = 6, kResume = 3;
constexpr Dims::value_type kClasses = 5;

struct Trial {
  const SmallNetwork& network;
  DataParallelOptions options;
  Optimizer optimizer = MomentumSgd{};
  bool overflows = false;  // steps 1 and 4 contain an infinity, in the last replica's share
  bool jumps = false;      // the rate changes at step 4
  bool means = false;      // the all-reduce takes means if shares are equal
  bool queued = false;     // on asynchronous devices
  bool apart = true;       // also compared with one process that does not alias values
  bool alias = true;       // false: planned without aliasing

  void jump() {
    jumps = true;
    optimizer = MomentumSgd{.correct_momentum = true};
  }
};

struct Run {
  // [step][loss, metric or check][replica of all]
  std::vector<std::map<std::string, std::map<int, double>>> reported;
  StateValues states;
  std::string middle, last;                  // checkpoints
  std::vector<std::vector<float>> held_out;  // by rank
};

double number_in(const Tensor& tensor) {
  return tensor.desc.dtype == DType::int64 ? static_cast<double>(*tensor.as<int64_t>())
                                           : static_cast<double>(*tensor.as<float>());
}

// One process's part of a run.
class Part {
 public:
  Part(const Trial& trial, const TrainingModel& model, Comm* comm)
      : trial_(trial),
        model_(model),
        comm_(comm),
        feeds_(model, trial.options.weighted ? 19 : 24, kClasses, {1, 6, 6},
               trial.options.replicas) {
    begin();
  }

  void run(const std::string& folder, Run& result, std::mutex& mutex) {
    session_->initialise();
    for (int64_t step = 0; step < kSteps; ++step) {
      if (step == kResume) {
        save_checkpoint(*session_, folder + "/middle", {});
        begin();
        load_checkpoint(*session_, folder + "/middle");
      }
      const auto fetched = take(step);
      std::lock_guard lock(mutex);
      note(fetched, result.reported[step]);
    }
    EXPECT_EQ(find_divergence(*session_), "");
    save_checkpoint(*session_, folder + "/last", {});
    std::vector<float> held_out = predict();
    std::lock_guard lock(mutex);
    result.held_out.push_back(std::move(held_out));
    for (auto& [name, value] : session_->save()) result.states.emplace(name, std::move(value));
  }

 private:
  void begin() {
    session_.reset();
    const auto devices =
        trial_.queued ? gpu_devices(model_.replicas) : cpu_devices(model_.replicas);
    session_ =
        std::make_unique<Session>(model_, devices, trial_.queued ? queued_kernels() : all_kernels(),
                                  SessionOptions{5, 1, {.alias = trial_.alias}, comm_});
  }

  std::span<const Tensor> take(int64_t step) {
    const bool jumped = trial_.jumps && step >= 4;
    const auto feeds = feeds_.at(step, jumped ? 0.005F : 0.05F, jumped && step == 4 ? 0.1F : 1);
    if (trial_.overflows && step % 3 == 1)
      feeds_.images().back() = std::numeric_limits<float>::infinity();
    return session_->step().run(feeds, session_->run_options(static_cast<uint64_t>(step)));
  }

  void note(std::span<const Tensor> fetched, std::map<std::string, std::map<int, double>>& into) {
    std::size_t next = 0;
    for (const auto* items : {&model_.losses, &model_.metrics, &model_.checks})
      for (const Replicated& item : *items)
        for (int k = 0; k < model_.replicas; ++k)
          into[item.name][model_.first_replica + k] = number_in(fetched[next++]);
  }

  // Predicts on a batch that no step has read.
  std::vector<float> predict() {
    feeds_.at(99, 0);
    std::vector<int64_t> tokens(12, 1);
    std::vector<Tensor> feeds;
    for (const std::string& name : session_->inference().feeds()) {
      const TensorType& type = model_.inference.type(model_.inference.at(name));
      Dims dims{4};
      for (std::size_t i = 1; i < type.shape.size(); ++i) dims.push_back(type.shape[i].size());
      void* data = type.dtype == DType::int64 ? static_cast<void*>(tokens.data())
                                              : static_cast<void*>(feeds_.images().data());
      feeds.push_back({{type.dtype, dims}, data});
    }
    std::vector<float> found;
    with_statistics_of_replica_0(*session_, [&] {
      const Tensor scores = session_->inference().run(feeds, session_->run_options(0))[0];
      found.assign(scores.as<float>(), scores.as<float>() + scores.count());
    });
    return found;
  }

  const Trial& trial_;
  const TrainingModel& model_;
  Comm* comm_;
  StepFeeds feeds_;
  std::unique_ptr<Session> session_;
};

Run run(const Trial& trial, const TrainingModel& whole, int processes) {
  TemporaryFolder folder;
  Run result;
  result.reported.resize(kSteps);
  std::mutex mutex;
  if (processes == 1) {
    Part(trial, whole, nullptr).run(folder.path(), result, mutex);
  } else {
    run_ranks(processes, [&](Comm& comm) {
      const TrainingModel part = partition(whole, {comm.rank(), processes});
      Part(trial, part, &comm).run(folder.path(), result, mutex);
    });
  }
  result.middle = read_file(folder / "middle");
  result.last = read_file(folder / "last");
  return result;
}

void expect_near(std::span<const float> a, std::span<const float> b, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0F, std::abs(b[i]))) << what << "[" << i << "]";
}

// Tolerance 0 means equal to the last bit.
void expect_same(const Run& found, const Run& expected, double tolerance) {
  for (std::size_t step = 0; step < kSteps; ++step)
    for (const auto& [name, values] : expected.reported[step])
      for (const auto& [replica, value] : values) {
        const double mine = found.reported[step].at(name).at(replica);
        if (!std::isfinite(value) && !std::isfinite(mine)) continue;
        ASSERT_NEAR(mine, value, tolerance * std::max(1.0, std::abs(value)))
            << name << " of replica " << replica << " in step " << step;
      }
  ASSERT_EQ(found.states.size(), expected.states.size());
  for (const auto& [name, value] : expected.states)
    expect_near(found.states.at(name).values<float>(), value.values<float>(), tolerance, name);
  for (const auto& scores : found.held_out)
    expect_near(scores, expected.held_out[0], tolerance, "held out");
  if (tolerance > 0) return;
  EXPECT_TRUE(found.middle == expected.middle) << "the checkpoint in the middle";
  EXPECT_TRUE(found.last == expected.last) << "the last checkpoint";
}

void expect_trained(const Run& run) {
  for (const auto& [name, value] : run.states)
    for (float number : value.values<float>()) ASSERT_TRUE(std::isfinite(number)) << name;
}

struct Sharing {
  int replicas;
  int processes;
  const char* spec;
  int built_for = 1;  // the number of processes that the step was built for
};

void compare(Trial trial, const Sharing& sharing) {
  trial.options.replicas = sharing.replicas;
  trial.options.scope = "cpu";
  trial.options.all_reduce.spec =
      parse_all_reduce(join(trial.means && !trial.options.weighted ? "mean:" : "", sharing.spec));
  trial.options.all_reduce.processes = sharing.built_for;
  const bool alone = sharing.replicas == sharing.processes;
  const bool exact = alone || (sharing.spec != std::string("collective") &&
                               !trial.options.synchronised_batch_norm &&
                               trial.options.statistics != StatisticsPolicy::mean);
  const double close = trial.options.precision == DType::float16 ? 4e-3
                       : trial.options.synchronised_batch_norm   ? 2e-3
                                                                 : 1e-6;
  const TrainingModel whole =
      build_data_parallel_model(all_ops(), trial.network.model, trial.optimizer, trial.options);
  const Run one = run(trial, whole, 1);
  expect_trained(one);
  expect_same(run(trial, whole, sharing.processes), one, exact ? 0 : close);
  if (!trial.apart) return;
  trial.alias = false;
  expect_same(run(trial, whole, 1), one, 0);
}

// With three replicas, one process has one replica and the other has two.
constexpr Sharing kSharings[] = {{2, 2, "collective"},
                                 {4, 2, "xring"},
                                 {3, 2, "rechd"},
                                 {4, 2, "nccl/xring", 2},
                                 {4, 2, "collective"}};
constexpr std::size_t kExact = 4;

class SameRun : public ::testing::TestWithParam<SmallNetwork> {};

TEST_P(SameRun, OverProcesses) {
  for (DType precision : {DType::float32, DType::float16})
    for (const Sharing& sharing : kSharings) {
      SCOPED_TRACE(join(precision, " ", sharing.replicas, " replicas by ", sharing.spec));
      const bool narrow = precision == DType::float16;
      Trial trial{GetParam(), GetParam().options};
      trial.options.precision = precision;
      trial.overflows = narrow;
      compare(trial, sharing);
    }
}

// All combinations of two of these options.
struct Way {
  const char* name;
  void (*choose)(Trial&);
};
constexpr Way kWays[] = {
    {"deferred", [](Trial& trial) { trial.options.deferred = true; }},
    {"micro-batches", [](Trial& trial) { trial.options.micro_batches = 2; }},
    {"skipped", [](Trial& trial) { trial.overflows = trial.options.skip_non_finite = true; }},
    {"a rate that jumps", [](Trial& trial) { trial.jump(); }},
    {"packed",
     [](Trial& trial) { trial.options.all_reduce.packing = parse_packing("ready:64:1k"); }},
    {"clipped first",
     [](Trial& trial) { trial.options.clip = {.norm = 0.5F, .before_reduce = true}; }},
    {"averages, and rates by name",
     [](Trial& trial) {
       trial.options.average.decay = 0.75F;
       trial.options.rules.rates = {{"*", 0.5F}, {"*b*", 0.25F}};
       trial.options.rules.decays = {{"*", 2}};
     }},
    {"means", [](Trial& trial) { trial.means = true; }},
    {"mean statistics", [](Trial& trial) { trial.options.statistics = StatisticsPolicy::mean; }},
    {"statistics in turn",
     [](Trial& trial) {
       if (!trial.options.synchronised_batch_norm)
         trial.options.statistics = StatisticsPolicy::in_turn;
     }},
    {"embeddings by rows", [](Trial& trial) { trial.options.embeddings = EmbeddingSum::sparse; }},
};

bool is_about(const Way& way, const SmallNetwork& network) {
  const bool reads_a_table = network.name == "integer_input" || network.name == "recurrent";
  return way.name != std::string("embeddings by rows") || reads_a_table;
}

TEST_P(SameRun, WithEveryTwoWaysToTrain) {
  std::size_t turn = 0;
  for (std::size_t i = 0; i < std::size(kWays); ++i)
    for (std::size_t j = i + 1; j < std::size(kWays); ++j) {
      if (!is_about(kWays[i], GetParam()) || !is_about(kWays[j], GetParam())) continue;
      Trial trial{GetParam(), GetParam().options};
      trial.apart = false;
      kWays[i].choose(trial);
      kWays[j].choose(trial);
      const Sharing& sharing = kSharings[turn++ % kExact];
      SCOPED_TRACE(join(kWays[i].name, ", ", kWays[j].name, " on ", sharing.replicas, " replicas"));
      compare(trial, sharing);
    }
}

// For other optimisers with every kind of step: micro-batches, deferred, skipped, float16.
constexpr Sharing kOptimisersSharings[] = {
    {1, 1, "collective"}, {2, 2, "collective"}, {3, 2, "rechd"}, {8, 2, "xring"}};

void compare_way(const Optimizer& optimizer, int ways, const Sharing& sharing) {
  SCOPED_TRACE(join(ways, " on ", sharing.replicas, " replicas"));
  Trial trial{small_network("batch_norm"), {}, optimizer};
  trial.options.micro_batches = (ways & 1) != 0 ? 2 : 1;
  trial.options.deferred = (ways & 2) != 0;
  trial.overflows = trial.options.skip_non_finite = (ways & 4) != 0;
  trial.options.precision = (ways & 8) != 0 ? DType::float16 : DType::float32;
  trial.options.loss_scaling.first = 1024;         // in range: deferred gradients stay finite
  trial.options.weighted = sharing.replicas == 8;  // 24 rows are not 16 equal shares
  trial.apart = sharing.replicas < 3;
  compare(trial, sharing);
}

// Adam's count of updates is a separate state, and differs from the step's number if steps are
// skipped.
TEST(SameRunByAdam, OverProcessesWhateverTheStep) {
  for (int ways = 0; ways < 16; ++ways)
    for (const Sharing& sharing : kOptimisersSharings)
      compare_way(Adam{.epsilon = 1e-3F}, ways, sharing);
}

// Half of the combinations for each, so that any two options meet in all combinations. Each runs on
// one sharing.
TEST(SameRunByOthers, OverProcessesWhateverTheStep) {
  const Optimizer optimizers[] = {AdamW{.epsilon = 1e-3F},
                                  RmsProp{.momentum = 0.5F, .epsilon = 0.1F},
                                  RmsProp{.epsilon = 0.1F, .centred = true},
                                  Adagrad{.rate_decay = 0.1F},
                                  Lars{.trust = 0.1F},
                                  Lamb{.epsilon = 1e-3F},
                                  Lion{}};
  for (unsigned i = 0; i < std::size(optimizers); ++i)
    for (unsigned ways = 0, turn = i; ways < 16; ++ways) {
      if (std::popcount(ways) % 2 != static_cast<int>(i % 2)) continue;
      SCOPED_TRACE(join("optimiser ", i));
      compare_way(optimizers[i], static_cast<int>(ways), kOptimisersSharings[turn++ % 4]);
    }
}

// Deferred gradients are copied into their state at the end, because the exchange reads the state
// until then.
TEST_P(SameRun, Deferred) {
  for (bool jumps : {false, true}) {
    Trial trial{GetParam(), GetParam().options};
    trial.options.deferred = true;
    if (jumps) trial.jump();
    compare(trial, kSharings[0]);
  }
}

TEST_P(SameRun, OnDevicesWithQueues) {
  Trial trial{GetParam(), GetParam().options};
  trial.queued = true;
  trial.options.deferred = true;
  trial.options.all_reduce.packing = parse_packing("ready:64:1k");
  compare(trial, {4, 2, "xring"});
}

INSTANTIATE_TEST_SUITE_P(Networks, SameRun, ::testing::ValuesIn(small_networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::testing
