// SPDX-License-Identifier: Apache-2.0
// The candidate of a table that a node gets, and the reasons for refusing the others.
#include "lockstep/kernel.h"

#include <gtest/gtest.h>

#include "graph/on_host.h"
#include "graph/print.h"
#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "operators/kit/dispatch.h"
#include "runtime/kernel/host_kernel.h"
#include "runtime/kernel/run_in_float32.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"

namespace lockstep::testing {
namespace {

const KernelFactory kNothing = [](const KernelRequest&) {
  return make_kernel([](const KernelArgs&) {});
};
const KernelFactory kNoEngine = [](const KernelRequest&) -> std::unique_ptr<Kernel> {
  throw Unsupported("has no engine for this");
};

KernelTable table_of(std::vector<Candidate> candidates) {
  return {DeviceKind::gpu, all_ops(), {{"Relu", "", std::move(candidates)}}};
}

// y = relu(x), and the request for its kernel.
struct OneRelu {
  Graph graph{all_ops(), "one"};
  TensorDesc x;
  Value y;
  Node node;

  explicit OneRelu(DType type = DType::float32)
      : x{type, {2, 32, 4, 4}},
        y(relu(graph, graph.input("x", {type, {2, 32, 4, 4}}), "y")),
        node(graph.node(0)) {
    graph.output(y);
  }
  KernelRequest request() const {
    return {.node = node, .in = {x}, .out = {x}, .device = {DeviceKind::gpu, 1}};
  }
  Plan plan(const std::vector<KernelTable>& kernels, const CompileOptions& options = {}) const {
    return compile({.graph = graph,
                    .feeds = {"x"},
                    .feed_dims = {x.dims},
                    .fetches = {"y"},
                    .states = {},
                    .updates = {},
                    .devices = {{DeviceKind::gpu, 1}},
                    .kernels = kernels,
                    .options = options});
  }
};

std::vector<std::string> names_of(const KernelEntry& entry) {
  std::vector<std::string> names;
  for (const Candidate& candidate : entry.candidates) names.push_back(candidate.name);
  return names;
}

TEST(KernelTable, TakesTheFirstThatDoesNotRefuse) {
  const OneRelu one;
  const KernelTable table = table_of({{"typed", takes<Integers>(), kNothing},
                                      {"engine", anything, kNoEngine},
                                      {"plain", anything, kNothing},
                                      {"last", anything, kNothing}});
  const ChosenKernel choice = table.choose(one.request());
  EXPECT_EQ(choice.candidate, "plain");
  EXPECT_TRUE(choice.kernel);
  EXPECT_EQ(text_of(choice.refused),
            "typed: takes int32 or int64, not float32; engine: has no engine for this");
}

TEST(KernelTable, NamesNodeDeviceAndEveryReasonWhereNobodyTakesIt) {
  const OneRelu one;
  const KernelTable table =
      table_of({{"typed", takes<Integers>(), kNothing}, {"engine", anything, kNoEngine}});
  expect_error([&] { table.choose(one.request()); }, "y (Relu", "no kernel on gpu:1 supports it",
               "typed: takes int32 or int64, not float32", "engine: has no engine for this");
  Graph other(all_ops());
  sigmoid(other, other.input("x", {DType::float32, {1}}), "s");
  expect_error([&] { table.choose({.node = other.node(0)}); }, "s (Sigmoid",
               "there is no GPU kernel for Sigmoid");
}

TEST(KernelTable, AnErrorOfAnotherKindIsNoRefusal) {
  const OneRelu one;
  const KernelFactory broken = [](const KernelRequest&) -> std::unique_ptr<Kernel> {
    fail("axis 7 does not exist");
  };
  const KernelTable table = table_of({{"broken", anything, broken}, {"plain", anything, kNothing}});
  expect_error([&] { table.choose(one.request()); }, "axis 7 does not exist");
}

// The node is identified by the error's subject, since many texts could begin with `y`.
TEST(KernelTable, ANodeIsNamedOnceInThePlansError) {
  const OneRelu one;
  const auto error_with = [&](const Candidate& candidate) {
    try {
      one.plan({table_of({candidate})});
    } catch (const Error& error) {
      EXPECT_EQ(error.subject().node, "y");
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const std::string name = one.node.description() + ": ";
  EXPECT_EQ(error_with({"engine", anything, kNoEngine}),
            name + "no kernel on gpu:1 supports it: engine: has no engine for this");
  const KernelFactory unnamed = [](const KernelRequest&) -> std::unique_ptr<Kernel> {
    fail("yields nothing");
  };
  EXPECT_EQ(error_with({"unnamed", anything, unnamed}), name + "yields nothing");
  const KernelFactory named = [](const KernelRequest& request) -> std::unique_ptr<Kernel> {
    fail(request.node, ": has no axis 7");
  };
  EXPECT_EQ(error_with({"named", anything, named}), name + "has no axis 7");
  const KernelFactory foreign = [](const KernelRequest&) -> std::unique_ptr<Kernel> {
    throw std::runtime_error("yields to nobody");
  };
  EXPECT_EQ(error_with({"foreign", anything, foreign}), name + "yields to nobody");
}

TEST(KernelTable, RefusesAtTheStartWhatIsMistyped) {
  const Candidate plain{"plain", anything, kNothing};
  auto table = [](std::vector<KernelEntry> entries) {
    return [entries] { KernelTable(DeviceKind::gpu, all_ops(), entries); };
  };
  expect_error(table({{"Rleu", "", {plain}}}), "GPU kernel for :Rleu, but no such operator");
  expect_error(table({{"Relu", kOwnDomain, {plain}}}), "ai.lockstep:Relu", "no such operator");
  expect_error(table({{"Relu", "", {plain}}, {"Relu", "", {plain}}}),
               "GPU kernel of :Relu is listed twice");
  expect_error(table({{"Relu", "", {plain, plain}}}), ":Relu has two candidates named 'plain'");
  expect_error(table({{"Relu", "", {}}}), ":Relu has no candidate");
}

TEST(KernelTable, AGpuKernelHasATwinOnTheCpu) {
  const auto accelerator = threads_as_devices(Reach::far);
  const Candidate plain{"plain", anything, kNothing};
  const std::vector<KernelEntry> own{{"Tanh", "", {plain}}}, host{{"Relu", "", {plain}}};
  expect_error([&] { with_host(own, host, *accelerator); }, "GPU kernel for :Tanh",
               "no CPU kernel");
  expect_error([&] { without_host(own, host); }, "GPU kernel for :Tanh", "no CPU kernel");
}

TEST(KernelTable, Float32ComesBehindOnesOwnAndTheHostLast) {
  const auto accelerator = threads_as_devices(Reach::far);
  const Candidate cpu{"CPU", takes<Float32>(), kNothing}, gpu{"GPU", takes<Floats>(), kNothing};
  const KernelEntry relu = with_float32({"Relu", "", {cpu}});
  EXPECT_EQ(names_of(relu), (std::vector<std::string>{"CPU", "CPU in float32"}));
  const auto all = with_host({{"Relu", "", {gpu}}}, {relu, {"Tanh", "", {cpu}}}, *accelerator);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(names_of(all[0]),
            (std::vector<std::string>{"GPU", "CPU on the host", "CPU in float32 on the host"}));
  const KernelTable table(DeviceKind::gpu, all_ops(), all);
  EXPECT_EQ(table.choose(OneRelu(DType::float64).request()).candidate, "GPU");
  const ChosenKernel narrow = table.choose(OneRelu(DType::bfloat16).request());
  EXPECT_EQ(narrow.candidate, "CPU in float32 on the host");
  EXPECT_EQ(text_of(narrow.refused),
            "GPU: takes float32 or float64, not bfloat16; "
            "CPU on the host: takes float32, not bfloat16");
  expect_error([&] { table.choose(OneRelu(DType::int32).request()); },
               "CPU in float32 on the host: is for 16-bit floats");
  Graph graph(all_ops());
  tanh(graph, graph.input("x", {DType::float32, {1}}), "t");
  const TensorDesc one{DType::float32, {1}};
  const ChosenKernel missing = table.choose({.node = graph.node(0), .in = {one}, .out = {one}});
  EXPECT_EQ(missing.candidate, "CPU on the host");
  EXPECT_EQ(text_of(missing.refused), "GPU: has no kernel for it");
}

// The GPU's kernels leave a node with a host request to the host. On a CPU the request has no
// effect.
TEST(KernelTable, ANodeMayAskForTheHost) {
  const auto accelerator = threads_as_devices(Reach::far);
  const KernelEntry host{"Relu", "", {{"CPU", anything, kNothing}}};
  const KernelEntry own{"Relu", "", {{"GPU", anything, kNothing}}};
  const KernelTable gpu(DeviceKind::gpu, all_ops(), with_host({own}, {host}, *accelerator));
  const KernelTable cpu(DeviceKind::cpu, all_ops(), {host});
  OneRelu one;
  EXPECT_EQ(gpu.choose(one.request()).candidate, "GPU");
  const auto [name, value] = on_host_attribute();
  one.graph.set_attribute(0, name, value);
  const ChosenKernel chosen = gpu.choose(one.request());
  EXPECT_EQ(chosen.candidate, "CPU on the host");
  EXPECT_EQ(text_of(chosen.refused), "GPU: the graph asks for the host's CPU");
  EXPECT_EQ(cpu.choose(one.request()).candidate, "CPU");
}

TEST(Refusals, SayWhatIsTakenAndWhatCame) {
  const OneRelu one;
  EXPECT_EQ(takes<Floats>()(one.request()), "");
  EXPECT_EQ(takes<Numbers>(1)(one.request()), "") << "left out";
  EXPECT_EQ(takes<Unsigned>()(one.request()), "takes uint8, uint16, uint32 or uint64, not float32");
  EXPECT_EQ(makes<Integers>()(one.request()), "makes int32 or int64, not float32");
  EXPECT_EQ(up_to_dims(3)(one.request()), "takes at most 3 dimensions, not 4");
  EXPECT_EQ(every({takes<Floats>(), up_to_dims(3)})(one.request()),
            "takes at most 3 dimensions, not 4");
  KernelRequest blocked = one.request();
  blocked.in.push_back({DType::int8, {}});
  EXPECT_EQ(takes<Integers>(1)(blocked), "takes int32 or int64, not int8 as operand 1");
  blocked.in[0].layout = Layout::blocks(16);
  EXPECT_EQ(whole_channels(0)(blocked),
            "takes row-major images or whole channels, not blocks of 16");
  blocked.in[0].layout = Layout::blocks(32);
  EXPECT_EQ(whole_channels(0)(blocked), "");
}

// Blocks of 16 for operand and result.
Layouts sixteen(const KernelRequest&) { return {{Layout::blocks(16)}, {Layout::blocks(16)}}; }

std::string refuses_blocks(const KernelRequest& request) {
  return request.in[0].layout.is_blocks() ? "takes row-major images" : "";
}

TEST(Layouts, ArePutAsTheKernelWillBeAsked) {
  std::vector<KernelRequest> asked;
  const OneRelu one;
  const LayoutPreference remembers = [&](const KernelRequest& request) {
    asked.push_back(request);
    return row_major(request);
  };
  const KernelFactory prepares = [&](const KernelRequest& request) {
    asked.push_back(request);
    return kNothing(request);
  };
  const std::vector<KernelTable> kernels{table_of({{"plain", anything, prepares, remembers}})};
  one.plan(kernels, {.threads = 3, .tf32 = true});
  ASSERT_EQ(asked.size(), 2u);
  for (const KernelRequest& request : asked) {
    EXPECT_EQ(text_of(request.device), "gpu:1");
    EXPECT_EQ(request.threads, 3);
    EXPECT_EQ(request.parts, 1);
    EXPECT_TRUE(request.tf32);
    EXPECT_EQ(request.part_devices, std::vector<Device>{request.device});
    EXPECT_EQ(request.operand_devices, (std::vector<Device>{request.device, request.device}));
  }
}

TEST(Layouts, AreRowMajorWhereAnotherWouldTakeOver) {
  const OneRelu one;
  const Candidate plain{"plain", anything, kNothing};
  auto wished = [&](std::vector<Candidate> candidates) {
    return table_of(std::move(candidates)).preferred_layouts(one.request());
  };
  const Layouts flat = row_major(one.request()), blocked = sixteen(one.request());
  EXPECT_EQ(wished({{"first", anything, kNothing, sixteen}, plain}), blocked);
  EXPECT_EQ(wished({{"first", refuses_blocks, kNothing, sixteen}, plain}), flat);
  EXPECT_EQ(wished({{"first", anything, kNoEngine, sixteen}, plain}), flat);
  EXPECT_EQ(wished({{"first", takes<Integers>(), kNothing, sixteen}, plain}), flat);
}

TEST(Reasons, StandInThePlanForStepsThatWereRefused) {
  const OneRelu one;
  const std::vector<KernelTable> kernels{
      table_of({{"typed", takes<Integers>(), kNothing}, {"plain", anything, kNothing}})};
  const Plan plan = one.plan(kernels);
  EXPECT_EQ(reasons_of(plan),
            "why gpu:1#0 Relu y runs as 'plain'. typed: takes int32 or int64, not float32\n");
  EXPECT_EQ(text_of(plan).find("why"), std::string::npos);
  const std::vector<KernelTable> content{table_of({{"plain", anything, kNothing}})};
  EXPECT_EQ(reasons_of(one.plan(content)),
            "why: every step uses its first candidate, none was refused\n");
}

}  // namespace
}  // namespace lockstep::testing
