// SPDX-License-Identifier: Apache-2.0
// Plans for GPUs with the GPU's kernels, made without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "operators/conv/cudnn_convolution.h"
#include "operators/cuda.h"
#include "runtime/accelerator.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"
#include "runtime/state/session_members.h"
#include "tests/support/golden.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

Plan plan_of(const TrainingModel& model, const std::string& devices, int64_t batch,
             Comm* comm = nullptr, const CompileOptions& options = {},
             const std::vector<KernelTable>& kernels = all_kernels()) {
  std::vector<std::string> feeds, fetches;
  std::vector<Dims> dims;
  for (const Replicated& input : model.inputs)
    for (const std::string& value : input.values) {
      feeds.push_back(value);
      Shape shape = model.step.shape(model.step.at(value));
      if (!shape.empty() && !shape[0].known()) shape[0] = batch;
      dims.push_back(to_dims(shape));
    }
  for (const Replicated& loss : model.losses)
    fetches.insert(fetches.end(), loss.values.begin(), loss.values.end());
  return compile({.graph = model.step,
                  .feeds = feeds,
                  .feed_dims = dims,
                  .fetches = fetches,
                  .states = model.state_values(),
                  .updates = model.updates,
                  .devices = parse_devices(devices),
                  .kernels = kernels,
                  .options = options,
                  .comm = comm});
}

TrainingModel replicated(const std::string& name, const DataParallelOptions& options) {
  return build_data_parallel_model(all_ops(), model_named(name, published_options(name)),
                                   MomentumSgd{}, options);
}

Plan plan_of(const std::string& name, int replicas, DType precision, int64_t batch) {
  return plan_of(replicated(name, {.replicas = replicas, .precision = precision}),
                 join("gpu*", replicas), batch);
}

// The distinct descriptions of the kernels of this type, in order.
std::vector<std::string> descriptions(const Plan& plan, const std::string& type) {
  std::vector<std::string> found;
  for (const PlanStep& step : plan.steps)
    if (step.type == type &&
        std::find(found.begin(), found.end(), step.kernel->describe()) == found.end())
      found.push_back(step.kernel->describe());
  return found;
}
using Texts = std::vector<std::string>;

TEST(GpuPlan, OfEightGpusNeedsNone) {
  Plan plan = plan_of("lenet", 8, DType::bfloat16, 4);
  for (const PlanStep& step : plan.steps)
    ASSERT_EQ(step.kernel->describe().find("on the host"), std::string::npos) << step.name;
  for (const KernelTable& table : all_kernels())  // a GPU would add its choice of engines
    if (table.kind() == DeviceKind::gpu && table.accelerator()->devices() > 0) return;
  expect_golden("lenet_8_gpus_bfloat16.plan.txt", text_of(plan));
}

TEST(GpuPlan, OfEveryModelHasNoStepOnTheHost) {
  std::vector<TrainingModel> models;
  for (const std::string& name : model_names()) models.push_back(replicated(name, {}));
  for (const std::string& name : language_model_names())
    models.push_back(build_data_parallel_model(all_ops(), language_model(name, {}), MomentumSgd{}));
  for (const TrainingModel& model : models)
    for (const PlanStep& step : plan_of(model, "gpu", 2).steps)
      ASSERT_EQ(step.kernel->describe().find("on the host"), std::string::npos)
          << step.type << ' ' << step.name;
}

TEST(GpuPlan, CountsStepsAndBytesByKind) {
  const Plan plan = plan_of("lenet", 1, DType::bfloat16, 4);
  const std::vector<KindOfStep> kinds = kinds_of_steps(plan);
  EXPECT_TRUE(std::ranges::is_sorted(kinds, std::greater(), &KindOfStep::bytes));
  std::size_t steps = 0, bytes = 0;
  for (const KindOfStep& kind : kinds) {
    steps += kind.steps;
    bytes += kind.bytes;
    EXPECT_NE(text_of(plan).find(join("kind  ", kind.type, ": ", kind.steps, " step")),
              std::string::npos);
  }
  EXPECT_EQ(steps, plan.steps.size());
  EXPECT_EQ(bytes, traffic_of(plan).bytes);
  const auto relus = std::ranges::find(kinds, "Relu", &KindOfStep::type);
  ASSERT_NE(relus, kinds.end());
  EXPECT_EQ(relus->steps, 1u);
  EXPECT_EQ(relus->bytes, 4u * 500 * 2 * 2);
}

TEST(GpuPlan, AlignsWhatLibrariesTakeForAligned) {
  const Plan plan = plan_of("lenet", 2, DType::bfloat16, 3);
  ASSERT_FALSE(plan.blocks.empty());
  for (const Block& block : plan.blocks) EXPECT_EQ(block.offset % 256, 0u);
}

// On 16-bit floats, convolutions compute the sums for the batch norms after them, and tensors are
// channels-last from the first convolution to the last pool. The batch, weights and their gradients
// change layout in their casts.
TEST(GpuPlan, OfResNet50KeepsChannelsTogether) {
  for (DType precision : {DType::bfloat16, DType::float16, DType::float32}) {
    const Plan plan = plan_of("resnet50", 1, precision, 64);
    int reorders = 0, convolutions = 0, additions = 0;
    for (const PlanStep& step : plan.steps) {
      reorders += step.type == "Reorder";
      additions += step.type == "FusedConvGradX";
      EXPECT_NE(step.type, "Sum") << step.name
                                  << ": gradients are added in the kernel that writes them";
      convolutions += step.type == (precision == DType::float32 ? "Conv" : "FusedConv");
      EXPECT_EQ(step.kernel->describe().find("on the host"), std::string::npos) << step.name;
    }
    EXPECT_EQ(convolutions, 53);
    EXPECT_EQ(additions, 16);
    if (precision == DType::float32)
      EXPECT_EQ(reorders, 0);
    else
      EXPECT_LE(reorders, 2) << precision;
  }
}

// Updates also write parameters in 16 bits, and read gradients in 16 bits. Only the batch and
// values around the loss are cast. A loss scale reads gradients in 32 bits.
TEST(GpuPlan, OfResNet50CastsNoParameters) {
  for (DType precision : {DType::bfloat16, DType::float16}) {
    const Plan plan = plan_of("resnet50", 1, precision, 64);
    std::map<std::string, int> steps;
    for (const PlanStep& step : plan.steps) ++steps[step.type];
    EXPECT_EQ(steps["Casts"], 0);
    EXPECT_LE(steps["Cast"], precision == DType::bfloat16 ? 4 : 4 + 54);
    ASSERT_EQ(plan.refresh.size(), 1u);
    EXPECT_EQ(plan.refresh[0].out.size(), 55u);
  }
}

// A cast to 16 bits is channels-last for a convolution and row-major for a product, so neither
// needs a reorder after the cast. If both read the batch, the batch is cast twice.
TEST(GpuPlan, ACastLiesAsItsReadersNeed) {
  const auto network = [](bool convolves, bool multiplies) {
    return [=](Net& net) {
      Graph& graph = net.graph;
      const Value x = net.input("data", {DType::float32, {Dim("N"), 8, 6, 6}});
      std::vector<Value> read;
      if (convolves) read.push_back(conv_layer(net, x, 8, {.kernel = 3, .pad = 1}, "conv"));
      if (multiplies) {
        const Value w = net.param("w", {1, 1, 6, 6}, xavier());
        read.push_back(matmul(graph, x, w, "product"));
      }
      const Value joined = read.size() == 1 ? read[0] : add(graph, read[0], read[1]);
      classify(net, fc_layer(net, joined, 10, {}, "fc"));
    };
  };
  for (const auto& [convolves, multiplies] :
       {std::pair{true, false}, {false, true}, {true, true}}) {
    const TrainingModel model = build_data_parallel_model(
        all_ops(), network(convolves, multiplies), MomentumSgd{}, {.precision = DType::bfloat16});
    int casts = 0;
    const Plan plan = plan_of(model, "gpu", 4);
    for (const PlanStep& step : plan.steps) {
      const std::string name = plan.slots[step.in.empty() ? 0 : step.in[0]].name;
      casts += step.type == "Cast" && name == "gpu_0/data";
      EXPECT_FALSE(step.type == "Reorder" && name.starts_with("gpu_0/data")) << step.name;
    }
    EXPECT_EQ(casts, convolves + multiplies);
  }
}

// Gradients of biases are sums over 16 bits in their current layout, for rows as well, without a
// cast to float32. In TF32 the layout is also channels-last.
TEST(GpuPlan, OfVgg16SumsGradientsOfBiasesAsTheyLie) {
  for (const DType precision : {DType::bfloat16, DType::float16, DType::float32}) {
    const Plan plan =
        plan_of(replicated("vgg16", {.precision = precision}), "gpu", 8, nullptr, {.tf32 = true});
    std::map<std::string, int> by_type;
    std::map<int, const PlanStep*> maker;
    for (const PlanStep& step : plan.steps) {
      for (const int out : step.out) maker[out] = &step;
      if (step.type != "ChannelSums" && step.type != "ReduceSum") continue;
      ++by_type[step.type];
      EXPECT_TRUE(step.kernel->describe().starts_with("by channel")) << step.name;
      if (plan.slots[step.in[0]].desc.dims.size() == 4) {
        EXPECT_EQ(step.kernel->describe(), "by channel, channels last, in packs") << step.name;
      }
      const std::string& type = maker.at(step.in[0])->type;
      EXPECT_TRUE(type != "Cast" && type != "Reorder") << step.name << " reads a " << type;
    }
    const bool narrow = precision != DType::float32;
    EXPECT_EQ(by_type["ChannelSums"], narrow ? 15 : 0);  // the loss makes the last sum in float32
    EXPECT_EQ(by_type["ReduceSum"], narrow ? 1 : 16);
  }
}

// Reads one byte per colour and writes the convolution's operand channels-last.
TEST(GpuPlan, OfResNet50NormalisesBytesAtOnce) {
  constexpr int64_t kBatch = 64, kValues = kBatch * 3 * 224 * 224;
  ClassifierOptions options = published_options("resnet50");
  options.bytes = ByteScale{{0.01F, 0.02F, 0.03F}, {2, 2, 2}};
  for (DType precision : {DType::bfloat16, DType::float16, DType::float32}) {
    const TrainingModel model =
        build_data_parallel_model(all_ops(), model_named("resnet50", options), MomentumSgd{},
                                  {.replicas = 1, .precision = precision});
    const Plan plan = plan_of(model, "gpu", kBatch);
    const bool narrow = precision != DType::float32;
    EXPECT_EQ(descriptions(plan, "ByteTable"),
              std::vector<std::string>{narrow ? "packs of pixels, colours innermost" : "packs"});
    for (const KindOfStep& kind : kinds_of_steps(plan)) {
      if (kind.type == "Cast" && precision == DType::bfloat16) {  // no loss scale casts gradients
        EXPECT_LT(kind.bytes, 10'000'000U);
      }
      if (kind.type != "ByteTable") continue;
      EXPECT_EQ(kind.steps, 1U);
      EXPECT_EQ(kind.bytes, kValues * (1 + size_of(precision)) + 3 * 256 * size_of(precision));
    }
  }
}

// If products may round float32, they run on tensor cores, which prefer channels-last.
TEST(GpuPlan, OfTf32IsThatOfUnitsForMatrices) {
  auto plan = [](DType precision, bool tf32) {
    return plan_of(replicated("lenet", {.replicas = 1, .precision = precision}), "gpu", 4, nullptr,
                   {.tf32 = tf32});
  };
  auto count = [](const Plan& of, const char* what) {
    int found = 0;
    for (const PlanStep& step : of.steps)
      found += step.kernel->describe().find(what) != std::string::npos;
    return found;
  };
  EXPECT_EQ(count(plan(DType::float32, false), "tf32"), 0);
  EXPECT_EQ(count(plan(DType::float32, true), "tf32"), 11);  // 2 convolutions, 2 products; backward
  EXPECT_EQ(count(plan(DType::bfloat16, true), "tf32"), 0);
  auto reorders = [](const Plan& of) {
    return std::count_if(of.steps.begin(), of.steps.end(),
                         [](const PlanStep& step) { return step.type == "Reorder"; });
  };
  EXPECT_EQ(reorders(plan(DType::float32, false)), 0);
  EXPECT_GT(reorders(plan(DType::float32, true)), 0);
}

// Clip and its gradient stay in 16 bits and channels-last as well.
TEST(GpuPlan, OfMobileNetStaysNarrow) {
  const Plan plan = plan_of("mobilenet_v2", 1, DType::bfloat16, 8);
  int casts = 0, reorders = 0;
  for (const PlanStep& step : plan.steps) {
    casts += step.type == "Cast";
    reorders += step.type == "Reorder";
  }
  EXPECT_LE(casts, 5) << "one node casts parameters, no node casts gradients";
  EXPECT_LE(reorders, 2);  // around the classifier
}

// The number type of convolutions.
struct Numbers {
  const char* name;
  DType precision;
  bool tf32;
};

class PlanForAGpuElsewhere : public ::testing::TestWithParam<std::tuple<const char*, Numbers>> {};

// A filter with one of several channels.
bool is_depthwise(const Plan& plan, const PlanStep& step) {
  auto dims = [&](int slot) { return plan.slots[slot].desc.dims; };
  if (step.type == "ConvGradW") return dims(step.out[0])[1] == 1 && dims(step.in[0])[1] > 1;
  if (step.type == "ConvGradX") return dims(step.in[1])[1] == 1 && dims(step.out[0])[1] > 1;
  return dims(step.in[1])[1] == 1 && dims(step.in[0])[1] > 1;
}

TEST_P(PlanForAGpuElsewhere, HasAnEngineForEachConvolution) {
  if (!cudnn_is_there()) GTEST_SKIP() << "skipped: no cuDNN, the oracle of engines";
  const auto [gpu, numbers] = GetParam();
  const auto kernels = kernels_planned_for(gpu_named(gpu));
  const bool exact = numbers.precision == DType::float32 && !numbers.tf32;
  for (const std::string& name : model_names()) {
    const Plan plan = plan_of(replicated(name, {.precision = numbers.precision}), "gpu", 8, nullptr,
                              {.tf32 = numbers.tf32}, kernels);
    for (const PlanStep& step : plan.steps) {
      if (step.type.find("Conv") == std::string::npos) continue;
      const std::string engine = step.kernel->describe();
      EXPECT_EQ(engine.rfind("cudnn engine ", 0), 0u)
          << name << ", " << step.name << ": " << engine;
      if (is_depthwise(plan, step)) continue;
      EXPECT_EQ(engine.find(" on tensor cores") == std::string::npos, exact)
          << name << ", " << step.name << ": " << engine;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanForAGpuElsewhere,
    ::testing::Combine(::testing::Values("h200", "h100", "a100"),
                       ::testing::Values(Numbers{"bfloat16", DType::bfloat16, false},
                                         Numbers{"float16", DType::float16, false},
                                         Numbers{"tf32", DType::float32, true},
                                         Numbers{"float32", DType::float32, false})),
    [](const auto& at) { return join(std::get<0>(at.param), "_", std::get<1>(at.param).name); });

// `collective` keeps the order of replicas. `nccl` leaves the order to NCCL if there are several
// GPUs; each GPU acts for its replicas.
TEST(GpuPlan, SumsAsTheSpecSays) {
  const TrainingModel ordered =
      replicated("mlp", {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("collective")}});
  const TrainingModel any =
      replicated("mlp", {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("nccl")}});
  const TrainingModel narrow = replicated(
      "mlp",
      {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("nccl"), .wire = DType::float16}});
  EXPECT_EQ(descriptions(plan_of(ordered, "gpu*3", 4), "AllReduce"), Texts{"peer access, 3 GPUs"});
  EXPECT_EQ(descriptions(plan_of(any, "gpu:1*3", 4), "AllReduce"), Texts{"memory of one GPU"});
  EXPECT_EQ(descriptions(plan_of(any, "gpu*3", 4), "AllReduce"), Texts{"NCCL over 3 GPUs"});
  EXPECT_EQ(
      descriptions(plan_of(any, "gpu:0*2,gpu:1", 4), "AllReduce"),
      (Texts{"NCCL over 2 GPUs, 2 replicas here first", "NCCL, by part 0", "NCCL over 2 GPUs"}));
  EXPECT_EQ(descriptions(plan_of(narrow, "gpu*3", 4), "AllReduce"),
            Texts{"NCCL over 3 GPUs, as float16"});
}

// One GPU of a process exchanges for all of its replicas, in one queue.
TEST(GpuPlan, OfAProcessExchangesInOneQueue) {
  for (const char* spec : {"collective", "nccl", "xring"}) {
    const TrainingModel whole =
        replicated("mlp", {.replicas = 4, .all_reduce = {.spec = parse_all_reduce(spec)}});
    run_ranks(2, [&](Comm& comm) {
      const Plan plan = plan_of(partition(whole, {comm.rank(), 2}), "gpu*2", 4, &comm);
      EXPECT_TRUE(plan.exchanges);
      const int other = 1 - comm.rank();
      if (spec == std::string("xring")) {
        // The ring leaves a process at its last replica, on another GPU than the sending GPU.
        EXPECT_EQ(descriptions(plan, "Sent"), Texts{join("NCCL, rank ", other, ", by a copy")});
        EXPECT_EQ(descriptions(plan, "Recv"), Texts{join("NCCL, rank ", other)});
      } else {
        EXPECT_EQ(descriptions(plan, "ProcessAllReduce"),
                  Texts{spec == std::string("nccl") ? "NCCL's sum, 2 processes"
                                                    : "NCCL, 2 processes, in order of ranks"});
      }
      for (const PlanStep& step : plan.steps)
        if (step.type == "Sent" || step.type == "Recv" || step.type == "ProcessAllReduce") {
          EXPECT_EQ(text_of(plan.workers[step.worker]), "gpu:0/comm") << step.name;
        }
    });
  }
}

// An embedding that is summed by rows: indices, then rows, within each process and across
// processes.
TEST(GpuPlan, JoinsTheRowsOfEmbeddings) {
  const TrainingModel whole =
      build_data_parallel_model(all_ops(), language_model("char_lstm", {}), MomentumSgd{},
                                {.replicas = 4, .embeddings = EmbeddingSum::sparse});
  const Texts alone = descriptions(plan_of(whole, "gpu*4", 4), "AllGather");
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_TRUE(
      alone[1].starts_with("peer access, 4 GPUs; by rows: as asked for; bytes to a replica: "));
  EXPECT_EQ(alone[0], "peer access, 4 GPUs");
  run_ranks(2, [&](Comm& comm) {
    const Plan plan = plan_of(partition(whole, {comm.rank(), 2}), "gpu*2", 4, &comm);
    const Texts across = descriptions(plan, "ProcessAllGather");
    ASSERT_EQ(across.size(), 2U);
    EXPECT_TRUE(across[1].starts_with("NCCL, 2 processes; by rows: as asked for; "));
    EXPECT_EQ(across[0], "NCCL, 2 processes");
    for (const PlanStep& step : plan.steps)
      if (step.type == "ProcessAllGather") {
        EXPECT_EQ(text_of(plan.workers[step.worker]), "gpu:0/comm") << step.name;
      }
  });
}

}  // namespace
}  // namespace lockstep::testing
