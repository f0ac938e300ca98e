// SPDX-License-Identifier: Apache-2.0
// One convolution by each of its implementations (operators/conv/implementations.h).
#include <algorithm>
#include <cctype>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "builders/step/precision.h"
#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "operators/conv/implementations.h"
#include "operators/conv/onednn/onednn.h"
#include "operators/cpu.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/threads/cores.h"
#include "tools/bench/bench.h"
#include "tools/bench/conv_case.h"
#include "tools/bench/options.h"
#include "tools/bench/roofline.h"

namespace lockstep {
namespace {

struct ConvBench {
  ConvShapeOptions shape;
  std::string implementation;  // "": all
  std::string pass = "forward";
  std::string precision = "float32";
  std::string isa;  // "": the processor's
  int threads = 0;  // 0: all cores
  int runs = 21;
  bool as_json = false;
};

const std::map<std::string, ConvPass> kPasses{
    {"forward", ConvPass::forward}, {"grad_x", ConvPass::grad_x}, {"grad_w", ConvPass::grad_w}};

// The option's word for an implementation: "amx-windows" for "AMX, windows".
std::string option_of(const ConvImplementation& implementation) {
  std::string word;
  for (const char letter : implementation.candidate.name)
    if (letter != ',')
      word += letter == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<uint8_t>(letter)));
  return word;
}

std::vector<std::string> implementation_options() {
  std::vector<std::string> words;
  for (const ConvImplementation& each : conv_implementations()) words.push_back(option_of(each));
  return words;
}

const std::map<std::string, Isa> kInstructions{
    {"portable", Isa::portable}, {"avx2", Isa::avx2}, {"avx512", Isa::avx512}};

void limit_instructions(const std::string& isa) {
  if (isa.empty()) return;
  const Isa most = kInstructions.at(isa);
  limit_isa(most);
  limit_onednn(most);
}

// Tables in which convolutions have one implementation.
std::vector<KernelTable> kernels_with(const std::string& name) {
  std::vector<KernelEntry> entries = cpu_kernel_entries();
  std::erase_if(entries, [&](KernelEntry& entry) {
    if (entry.type.starts_with("Conv"))
      std::erase_if(entry.candidates, [&](const Candidate& each) { return each.name != name; });
    return entry.candidates.empty();
  });
  std::vector<KernelTable> tables;
  tables.emplace_back(DeviceKind::cpu, all_ops(), std::move(entries));
  return tables;
}

struct MeasuredConv {
  std::string name;
  std::string refusal = {};    // the reason why it does not compute the convolution; "" if measured
  std::string algorithm = {};  // as printed in plans
  double seconds = 0;          // median of the kernel alone
  double operations = 0;       // by the definition of convolutions
  double error = 0;
};

// A graph of one convolution; its operands are cast to its type first.
class ConvGraph {
 public:
  explicit ConvGraph(const ConvCase& of) : case_(of) {
    const Conv2d& c = of.conv;
    const ConvAxis &down = c.down, &across = c.across;
    Attributes attributes{
        {"pads", std::vector<int64_t>{down.pad, across.pad, down.pad, across.pad}},
        {"strides", std::vector<int64_t>{down.step, across.step}},
        {"dilations", std::vector<int64_t>{down.hole, across.hole}},
        {"group", of.group}};
    if (of.pass == ConvPass::forward) {
      make("Conv", "", {"x", "w"}, attributes);
    } else if (of.pass == ConvPass::grad_x) {
      attributes.emplace_back("x_shape", std::vector<int64_t>{down.image, across.image});
      make("ConvGradX", kOwnDomain, {"dy", "w"}, attributes);
    } else {
      attributes.emplace_back("kernel_shape", std::vector<int64_t>{down.window, across.window});
      make("ConvGradW", kOwnDomain, {"x", "dy"}, attributes);
    }
  }

  // The kernel request with row-major tensors.
  KernelRequest request() const {
    const auto desc = [&](Value value) {
      return TensorDesc{graph_.dtype(value), to_dims(graph_.shape(value))};
    };
    KernelRequest request{.node = *conv_};
    for (Value input : conv_->inputs()) request.in.push_back(desc(input));
    for (Value output : conv_->outputs()) request.out.push_back(desc(output));
    return request;
  }
  Plan plan(const std::vector<KernelTable>& kernels, const CompileOptions& options) const {
    std::vector<Dims> dims;
    for (const std::string& feed : feeds_) dims.push_back(dims_of(feed));
    return compile({.graph = graph_,
                    .feeds = feeds_,
                    .feed_dims = dims,
                    .fetches = {"result"},
                    .devices = cpu_devices(1),
                    .kernels = kernels,
                    .options = options});
  }
  std::vector<Tensor> tensors(const ConvOperands& operands) const {
    std::vector<Tensor> all;
    for (const std::string& feed : feeds_) {
      const auto& values = feed == "x" ? operands.x : feed == "w" ? operands.w : operands.dy;
      all.push_back({{DType::float32, dims_of(feed)}, const_cast<float*>(values.data())});
    }
    return all;
  }

 private:
  Dims dims_of(const std::string& feed) const {
    return feed == "x" ? case_.x() : feed == "w" ? case_.w() : case_.y();
  }
  void make(const char* type, const char* domain, const std::vector<std::string>& operands,
            const Attributes& attributes) {
    std::vector<Value> inputs;
    for (const std::string& name : operands) {
      feeds_.push_back(name);
      const Value fed = graph_.input(name, {DType::float32, to_shape(dims_of(name))});
      inputs.push_back(case_.type == DType::float32 ? fed : cast(graph_, fed, case_.type));
    }
    const bool is_result = case_.type == DType::float32;
    conv_ = graph_.add({type, domain, inputs, attributes}, is_result ? "result" : "conv");
    if (!is_result) cast(graph_, conv_->outputs()[0], DType::float32, "result");
  }

  ConvCase case_;
  Graph graph_{all_ops(), "convolution"};
  std::vector<std::string> feeds_;
  std::optional<Node> conv_;
};

std::string refusal_of(const ConvImplementation& implementation, const KernelRequest& request) {
  const std::string types = implementation.types(request);
  const Refusal& others = implementation.candidate.refuses;
  return !types.empty() || !others ? types : others(request);
}

MeasuredConv measure(const ConvImplementation& implementation, const ConvCase& of,
                     const ConvOperands& operands, const ConvBench& bench) {
  MeasuredConv measured{.name = implementation.candidate.name};
  const ConvGraph graph(of);
  const std::vector<KernelTable> kernels = kernels_with(measured.name);
  States none_kept({}, {});
  Workers workers(1, bench.threads);
  std::unique_ptr<Executor> executor;
  measured.refusal = refusal_of(implementation, graph.request());
  if (!measured.refusal.empty()) return measured;
  try {
    executor = make_executor(graph.plan(kernels, {.threads = bench.threads}), none_kept, workers);
  } catch (const Unsupported& error) {
    measured.refusal = error.what();
    return measured;
  }
  const Plan& plan = executor->plan();
  const auto step = std::ranges::find_if(
      plan.steps, [](const PlanStep& each) { return each.type.starts_with("Conv"); });
  const std::vector<Tensor> tensors = graph.tensors(operands);
  std::vector<double> seconds;
  for (int run = 0; run <= bench.runs; ++run) {
    StepTimes times(plan.steps.size(), 0);
    executor->run(tensors, {.context = {1, 0}, .times = &times});
    if (run > 0) seconds.push_back(times[step - plan.steps.begin()]);  // the first touches memory
  }
  const auto middle = seconds.begin() + bench.runs / 2;
  std::ranges::nth_element(seconds, middle);
  measured.seconds = *middle;
  measured.operations = step->flops.products;
  measured.algorithm = step->kernel->describe();
  measured.error = error_of(of, operands, executor->fetches()[0].as<float>());
  return measured;
}

void print(const std::vector<MeasuredConv>& all, double peak, const ConvBench& bench) {
  std::cout << bench.shape.shape << ", " << bench.pass << " in " << bench.precision << ", "
            << bench.threads << (bench.threads == 1 ? " thread" : " threads") << "; peak "
            << std::fixed << std::setprecision(0) << peak * 1e-9
            << " GFLOP/s, of a large product of matrices\n"
            << "implementation        ms   GFLOP/s   of peak     error  algorithm\n";
  for (const MeasuredConv& each : all) {
    std::cout << std::left << std::setw(14) << each.name << std::right;
    if (!each.refusal.empty()) {
      std::cout << "  " << each.refusal << "\n";
      continue;
    }
    const double rate = each.operations / each.seconds;
    std::cout << std::fixed << std::setprecision(3) << std::setw(10) << 1e3 * each.seconds
              << std::setprecision(1) << std::setw(10) << 1e-9 * rate << std::setprecision(0)
              << std::setw(8) << 100 * rate / peak << " %" << std::scientific
              << std::setprecision(1) << std::setw(10) << each.error << "  " << each.algorithm
              << "\n";
  }
}

void print_json(const std::vector<MeasuredConv>& all, double peak) {
  nlohmann::json rows = nlohmann::json::array();
  for (const MeasuredConv& each : all)
    if (each.refusal.empty())
      rows.push_back({{"implementation", each.name},
                      {"seconds", each.seconds},
                      {"operations", each.operations},
                      {"peak", peak},
                      {"error", each.error},
                      {"algorithm", each.algorithm}});
    else
      rows.push_back({{"implementation", each.name}, {"refusal", each.refusal}});
  std::cout << rows.dump(2) << "\n";
}

int bench_conv(ConvBench bench) {
  limit_instructions(bench.isa);
  if (bench.threads == 0) bench.threads = cpu_cores();
  ConvCase of = conv_case(bench.shape);
  of.pass = kPasses.at(bench.pass);
  of.type = parse_precision(bench.precision);
  const ConvOperands operands = draw_operands(of);
  std::vector<MeasuredConv> all;
  for (const ConvImplementation& each : conv_implementations())
    if (bench.implementation.empty() || option_of(each) == bench.implementation)
      if (std::ranges::find(each.passes, of.pass) != each.passes.end())
        all.push_back(measure(each, of, operands, bench));
  check(!all.empty(), bench.implementation, " computes no ", bench.pass);
  std::string refusals;
  for (const MeasuredConv& each : all) refusals += join("\n  ", each.name, ": ", each.refusal);
  check(std::ranges::any_of(all, [](const auto& each) { return each.refusal.empty(); }),
        "no implementation accepts --shape ", bench.shape.shape, ":", refusals);
  const Device cpu{DeviceKind::cpu, 0};
  // Only the product is used, so the sweep over memory is short.
  const RateSizes sizes{.side = rate_sizes(cpu.kind).side, .sweep = 1};
  const double peak =
      measure_rates(cpu, of.type, sizes, all_kernels(), {.threads = bench.threads}).operations;
  if (bench.as_json)
    print_json(all, peak);
  else
    print(all, peak, bench);
  return 0;
}

}  // namespace

void add_bench_conv(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<ConvBench>();
  CLI::App* command = bench.add_subcommand(
      "conv", "one convolution on the CPU, by each implementation that accepts it");
  command
      ->add_option("--shape", options->shape.shape,
                   "images x channels x height x width, the result's channels, the window")
      ->capture_default_str();
  const auto number = [&](const char* name, int64_t& value, const char* text, int64_t least) {
    command->add_option(name, value, text)->check(CLI::Range(least, int64_t{10000}));
  };
  number("--stride", options->shape.step, "steps of the window", 1);
  number("--dilation", options->shape.hole, "distance of the window's elements", 1);
  number("--pad", options->shape.pad, "padding on each side; by default half a window", 0);
  number("--groups", options->shape.group, "groups of channels", 1);
  command->add_option("--pass", options->pass, "the result, or a gradient")
      ->capture_default_str()
      ->check(CLI::IsMember(kPasses));
  command->add_option("--precision", options->precision, "float32, bfloat16 or float16")
      ->capture_default_str();
  command->add_option("--implementation", options->implementation, "only this implementation")
      ->check(CLI::IsMember(implementation_options()));
  command
      ->add_option("--isa", options->isa,
                   "widest vectors for kernels that have a choice and for oneDNN")
      ->check(CLI::IsMember(kInstructions));
  command->add_option("--threads", options->threads, "threads; 0: one for each core")
      ->check(CLI::Range(0, 1024));
  command->add_option("--runs", options->runs, "timed runs, of which the median is printed")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  add_json(*command, options->as_json);
  command->footer(
      "Example:  lockstep bench conv --shape 16x512x7x7,512,3 --pass grad_w --isa avx2");
  command->callback([=, &chosen] { chosen = [=] { return bench_conv(*options); }; });
}

}  // namespace lockstep
