// Optimisers as values: Adam held to PyTorch's numbers, what its count counts, and one that is
// written here, to see that a training step needs to know no more of it than it says.
#include "builders/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "builders/optimizers/adam.h"
#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"
#include "runtime/state/checkpoint.h"
#include "runtime/state/drift.h"
#include "runtime/state/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

struct Parameter {
  const char* name;
  StateKind kind;
  float first;
  float slope;      // d loss / d parameter, of a mean of 1
  double after[2];  // 20 steps of torch.optim.Adam 1.13 in float64, by the numbers below
};
constexpr Parameter kParameters[] = {
    {"w", StateKind::weight, 0.5F, 2, {0.440891954223, 0.440676113918}},
    {"b", StateKind::bias, -0.25F, 3, {-0.260438840977, -0.260540438199}},
    {"s", StateKind::norm, 1.5F, -1, {1.349574384678, 1.350505185979}}};
constexpr Adam kAdams[] = {{}, {.beta1 = 0.75F, .beta2 = 0.875F, .epsilon = 0x1p-10F}};
constexpr ParamRules kRules{
    .weight_decay = 0.25F, .weight_decay_norm = 0.125F, .bias_rate_factor = 3};
constexpr float kMean[] = {1, -2, 0.5F, 0.25F};  // of what is fed in steps 0, 1, 2, 3, 4, ..

float rate_at(int64_t step) { return step < 10 ? 0.1F : 0.02F; }

// The loss is a weighted sum of all parameters, times the mean of what is fed.
void weighted_parameters(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1}});
  Value mean = reduce_mean(net.graph, x, {}, false, "mean");
  Value loss = mean;
  for (const Parameter& parameter : kParameters) {
    const std::string name = parameter.name;
    Value p = net.param(name, {2, 3}, constant(parameter.first), parameter.kind);
    Value slope = net.graph.constant(name + "_slope", Literal::scalar(parameter.slope));
    Value sum = reduce_sum(net.graph, p, {}, false, name + "_sum");
    loss = add(net.graph, loss, mul(net.graph, mul(net.graph, sum, slope), mean), name + "_loss");
  }
  net.training() ? net.loss("loss", loss) : net.output("out", loss);
}

// A run of it on `replicas`, which are fed numbers of that mean.
class Training {
 public:
  Training(const Optimizer& optimizer, int replicas, bool queued, DataParallelOptions options = {})
      : data_(static_cast<std::size_t>(replicas)) {
    options.replicas = replicas;
    options.scope = "r";
    options.rules = kRules;
    model_ = std::make_unique<TrainingModel>(
        build_data_parallel_model(all_ops(), weighted_parameters, optimizer, options));
    session_ = std::make_unique<Session>(
        *model_, queued ? gpu_devices(replicas) : cpu_devices(replicas),
        queued ? queued_kernels() : all_kernels(), SessionOptions{1, 1, {}});
    session_->initialise();
    for (const StepInput& input : model_->inputs)
      for (std::size_t k = 0; k < data_.size(); ++k)
        feeds_.push_back(input.role == Role::data ? Tensor{{DType::float32, {1, 1}}, &data_[k]}
                                                  : Tensor{{DType::float32, {1}}, &rate_});
  }

  void step(int64_t step, float mean, float difference = 0.5F) {
    rate_ = rate_at(step);
    for (std::size_t k = 0; k < data_.size(); ++k)
      data_[k] = mean + (data_.size() == 1 ? 0 : k == 0 ? difference : k == 1 ? -difference : 0);
    session_->step().run(feeds_, session_->run_options(static_cast<uint64_t>(step)));
  }

  std::vector<float> of(const std::string& state, int replica = 0) {
    const Literal value = session_->state().read(join("r_", replica, "/", state));
    return {value.values<float>().begin(), value.values<float>().end()};
  }
  const TrainingModel& model() { return *model_; }
  Session& session() { return *session_; }

 private:
  std::vector<float> data_;
  float rate_ = 0;
  std::unique_ptr<TrainingModel> model_;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> feeds_;
};

TEST(AdamOptimizer, IsPyTorchs) {
  for (std::size_t which : {0, 1})
    for (int replicas : {1, 2, 3, 8})
      for (bool queued : {false, true}) {
        Training run(kAdams[which], replicas, queued);
        for (int64_t step = 0; step < 20; ++step) run.step(step, kMean[step % 4]);
        for (const Parameter& parameter : kParameters)
          for (float value : run.of(parameter.name, replicas - 1))
            EXPECT_NEAR(value, parameter.after[which], 1e-5)
                << parameter.name << " on " << replicas << (queued ? " queued" : "");
        EXPECT_EQ(run.of("updates_made"), std::vector<float>{20});
        EXPECT_EQ(find_drift(run.session()), "");
      }
}

// Steps 2 and 3 are skipped; the rest is a run that never had them.
TEST(AdamOptimizer, CountsTheUpdatesThatWereMade) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (bool queued : {false, true})
    for (DType precision : {DType::float32, DType::float16}) {
      const DataParallelOptions options{.skip_non_finite = true, .precision = precision};
      Training whole(Adam{}, 2, queued, options), skipping(Adam{}, 2, queued, options);
      int64_t fed = 0;
      for (int64_t step = 0; step < 6; ++step) {
        const bool skipped = step == 2 || step == 3;
        const StateValues before = skipping.session().save();
        skipping.step(step, skipped ? infinity : kMean[fed % 4]);
        if (!skipped) {
          whole.step(step, kMean[fed++ % 4]);
        } else if (precision == DType::float32) {
          EXPECT_TRUE(skipping.session().save() == before) << step;
        }
        for (const State& state : whole.model().states)
          if (state.kind != StateKind::scaling) {
            EXPECT_EQ(skipping.of(state.name, 1), whole.of(state.name, 1)) << state.name;
          }
      }
      EXPECT_EQ(skipping.of("updates_made"), std::vector<float>{4});
    }
}

// The gradients of the first step are those of none; it is the first update all the same.
TEST(AdamOptimizer, DeferredTakesTheGradientsOfTheStepBefore) {
  Training deferred(Adam{}, 2, false, {.deferred = true});
  deferred.step(0, kMean[0]);
  EXPECT_EQ(deferred.of("b"), std::vector<float>(6, -0.25F));
  EXPECT_EQ(deferred.of("updates_made"), std::vector<float>{1});
  deferred.step(1, kMean[1]);
  // m = 0.1 g, v = 0.001 g^2, and t is 2.
  const double step = 0.1 * (0.1 / (1 - 0.81)) / std::sqrt(0.001 / (1 - 0.998001));
  EXPECT_NEAR(deferred.of("b")[0], -0.25 - step, 1e-6);
}

TEST(AdamOptimizer, KeepsNothingOfWhatIsFrozen) {
  Training run(Adam{}, 2, false, {.frozen = {"w"}});
  for (int64_t step = 0; step < 3; ++step) run.step(step, 1);
  EXPECT_EQ(run.of("w"), std::vector<float>(6, 0.5F));
  EXPECT_EQ(run.model().find_state("w_first_moment"), nullptr);
  ASSERT_NE(run.model().find_state("b_second_moment"), nullptr);
  EXPECT_EQ(run.model().find_state("b_second_moment")->kind, StateKind::slot);
}

TEST(AdamOptimizer, RefusesNumbersThatDivideByZero) {
  expect_error([] { small_mlp(1, Adam{.beta1 = 1}); }, "Adam's beta1 is 1, should be at least 0");
  expect_error([] { small_mlp(1, Adam{.beta2 = -0.5F}); }, "Adam's beta2 is -0.5");
  expect_error([] { small_mlp(1, Adam{.epsilon = 0}); },
               "Adam's epsilon is 0, should be finite and above 0");
}

// The parameter loses rate * gradient; each replica adds up the squares of the gradients that it
// sees, from 0.5 on, which differ where nothing is reduced.
Optimizer with_a_slot_of_its_own() {
  Optimizer optimizer([](Graph& graph, const ParamUpdate& update) -> UpdatedParam {
    const std::string name = graph.name(update.param);
    const Value squares = mul(graph, update.gradient, update.gradient, name + "_squares");
    const Value step = mul(graph, update.gradient, update.fed[0], name + "_step");
    return {sub(graph, update.param, step, name + "_new"),
            {add(graph, update.slots[0], squares, name + "_seen_new")}};
  });
  optimizer.feeds = {kLearningRate};
  optimizer.slots = {{.name = "seen", .first = 0.5F, .differs_by_replica = true}};
  return optimizer;
}

TEST(Optimizers, ASlotMayDifferByReplica) {
  TemporaryFolder folder;
  DataParallelOptions options;
  options.all_reduce.spec = parse_all_reduce("trivial");
  Training run(with_a_slot_of_its_own(), 2, false, options);
  EXPECT_EQ(run.of("b_seen", 1), std::vector<float>(6, 0.5F));
  EXPECT_EQ(run.model().find_state("b_seen")->kind, StateKind::own_slot);
  EXPECT_TRUE(differs_by_replica(StateKind::own_slot));
  run.step(0, 1, 0.25F);
  // The bias's gradient is 3 * 3 * (1 +- 0.25), of which each replica has a half.
  EXPECT_FLOAT_EQ(run.of("b_seen", 0)[0], 0.5F + 5.625F * 5.625F);
  EXPECT_FLOAT_EQ(run.of("b_seen", 1)[0], 0.5F + 3.375F * 3.375F);
  save_checkpoint(run.session(), folder / "c", {});
  EXPECT_EQ(read_safetensors(folder / "c").tensors.count("b_seen@1"), 1u);
  Training again(with_a_slot_of_its_own(), 2, false, options);
  load_checkpoint(again.session(), folder / "c");
  EXPECT_TRUE(again.session().save() == run.session().save());
  again.session().state().at("r_1/s_seen").as<float>()[4] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(lost_value(again.session()), "'r_1/s_seen' is inf at [1,1]");
}

TEST(Optimizers, ANewValueForEachSlot) {
  Optimizer optimizer = with_a_slot_of_its_own();
  optimizer.slots.push_back({"forgotten"});
  expect_error([&] { small_mlp(1, optimizer); }, "the optimiser has 2 slots, but 1 new ones for");
}

}  // namespace
}  // namespace lockstep::testing
