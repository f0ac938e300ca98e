// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/train_step.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "app/format.h"
#include "app/inspect/json_lines.h"
#include "app/machine.h"
#include "app/trace/steps_trace.h"
#include "builders/step/precision.h"
#include "graph/limits.h"
#include "graph/passes/bind.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tools/bench/bench.h"
#include "tools/bench/cores_apart.h"
#include "tools/bench/fed_batch.h"
#include "tools/bench/networks.h"
#include "tools/bench/options.h"
#include "tools/bench/profile.h"
#include "tools/bench/random_rows.h"
#include "tools/bench/train_config.h"
#include "tools/trace_options.h"

namespace lockstep {
namespace {

// Makes random images and labels states of the model, on its devices from the start. Only the step
// is timed, not its input. The learning rate stays a feed.
StateValues make_batch_resident(TrainingModel& model, int64_t batch, int64_t classes) {
  const int64_t share = batch / model.replicas;
  check(share * model.replicas == batch, "a batch of ", batch, " cannot be split equally over ",
        model.replicas, " devices");
  PhiloxSequence random(1, 1);
  StateValues values;
  std::map<std::string, Dims> dims;
  std::vector<StepInput> fed;
  for (const StepInput& input : model.inputs) {
    for (const std::string& name : input.values) {
      const Value value = model.step.at(name);
      Shape shape = model.step.shape(value);
      if (!shape[0].known()) shape[0] = share;
      dims[name] = to_dims(shape);
      if (input.role == Role::rate) continue;
      values.emplace(name, random_rows(model.step.dtype(value), to_dims(shape), classes, random));
    }
    if (input.role == Role::rate)
      fed.push_back(input);
    else
      model.states.push_back({input, StateKind::computed});
  }
  std::vector<std::string> wanted;
  for (const auto* items : {&model.losses, &model.metrics, &model.checks})
    for (const Replicated& item : *items)
      wanted.insert(wanted.end(), item.values.begin(), item.values.end());
  for (const Binding& update : model.updates) wanted.push_back(update.value);
  model.step = bind_shapes(model.step, dims, wanted, nullptr);
  model.inputs = std::move(fed);
  return values;
}

}  // namespace

TrainStepTimes time_train_step(const TrainStepBench& options) {
  const auto began = std::chrono::steady_clock::now();
  TrainStepTimes result;
  const std::vector<Device> devices = parse_devices(options.devices);
  const BenchNetwork network = bench_network(options.model, options.bytes);
  TrainingModel model =
      build_data_parallel_model(all_ops(), network.make, MomentumSgd{},
                                {.replicas = static_cast<int>(devices.size()),
                                 .scope = std::string(devices[0].info().text),
                                 .precision = parse_precision(options.precision)});
  const std::size_t before = resident_memory();
  StateValues resident;
  std::optional<FedBatch> fed;
  if (options.feed == "resident")
    resident = make_batch_resident(model, options.batch, network.classes);
  else
    fed.emplace(model, options.batch, network.classes);
  Session session(
      model, devices, all_kernels(),
      {.threads = options.threads, .compile = {.tf32 = options.tf32, .exact = options.exact}});
  session.initialise();
  session.load(resident);
  Feeds feeds(model);
  feeds.set(Role::rate, 0.01F);
  if (fed) fed->set(feeds);
  for (int step = 0; step < 2; ++step) {  // plan, touch all memory, and record if supported
    session.run_step(feeds, 0);
    if (step == 0) result.first = seconds_since(began);
  }

  const Plan& plan = plan_of(session.step(), feeds.tensors());
  Profile profile{.seconds = StepTimes(plan.steps.size(), 0), .runs = options.steps};
  std::vector<double> seconds;
  double host = 0;
  PrintedTrace trace(options.trace, session, {1, options.steps},
                     options.as_json ? std::cerr : std::cout);
  for (int step = 2; step < options.steps + 2; ++step) {
    RunOptions run = session.run_options(static_cast<uint64_t>(step));
    if (options.profile) run.times = &profile.seconds;
    run.host_seconds = &host;
    if (options.feed == "ahead") {
      run.fed_ahead = step > 2;
      run.meanwhile = [&] { session.step().feed_ahead(feeds.tensors()); };
    }
    trace.around(step - 1, static_cast<double>(options.batch), [&] {
      const auto start = std::chrono::steady_clock::now();
      session.run_step(feeds, run);
      seconds.push_back(seconds_since(start));
    });
  }
  profile.wall = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::sort(seconds.begin(), seconds.end());
  result.threads = session.threads();
  result.median = seconds[seconds.size() / 2];
  result.fastest = seconds.front();
  result.host = host / options.steps;
  result.most_bytes = peak_memory();
  result.grown_bytes = result.most_bytes - std::min(before, result.most_bytes);
  result.predicted = planned_memory(plan);
  for (const auto& [name, value] : resident) result.predicted.loader += value.bytes().size();
  if (fed)
    for (const Tensor& feed : feeds.tensors()) result.predicted.loader += feed.desc.bytes();
  if (options.profile) {
    if (plan.workers.size() == 1)
      profile.rates =
          measure_rates(devices[0], parse_precision(options.precision), rate_sizes(devices[0].kind),
                        all_kernels(), {.threads = result.threads, .tf32 = options.tf32});
    if (devices[0].info().in_host_memory) profile.between_cores = seconds_between_cores();
    print_profile(plan, profile);
  }
  return result;
}

namespace {

int bench_train_step(const TrainStepBench& options) {
  TrainStepBench asked = options;
  asked.profile = options.profile && !options.as_json;
  const TrainStepTimes times = time_train_step(asked);
  if (options.as_json) {
    std::cout << nlohmann::json{{"model", options.model},
                                {"batch", options.batch},
                                {"devices", options.devices},
                                {"threads", times.threads},
                                {"precision", options.precision},
                                {"tf32", options.tf32},
                                {"exact", options.exact},
                                {"bytes", options.bytes},
                                {"feed", options.feed},
                                {"seconds", times.median},
                                {"host_seconds", times.host},
                                {"fastest", times.fastest},
                                {"first_step_seconds", times.first},
                                {"most_bytes", times.most_bytes},
                                {"grown_bytes", times.grown_bytes},
                                {"predicted", json_of(times.predicted)}}
                     .dump()
              << "\n";
    return 0;
  }
  std::cout << std::fixed << std::setprecision(3) << options.model << ", batch " << options.batch
            << " on " << options.devices << " in " << options.precision
            << (options.tf32 ? " (products in tf32)" : "") << (options.exact ? " (exact)" : "")
            << (options.bytes ? " (images as bytes)" : "")
            << (options.feed == "resident" ? "" : " (fed " + options.feed + ")") << " with "
            << times.threads << " threads each: " << times.median << " s a step (median of "
            << options.steps << "), " << std::setprecision(1)
            << static_cast<double>(options.batch) / times.median << " examples/s\n"
            << "first step after " << std::setprecision(3) << times.first << " s, at most "
            << times.most_bytes / (1 << 20) << " MiB in memory\n"
            << "memory grew by " << text_of_bytes(times.grown_bytes) << ", predicted "
            << text_of(times.predicted) << "\n";
  if (times.host > 0)
    std::cout << "host time of a step: " << std::setprecision(3) << times.host * 1e3 << " ms, "
              << std::setprecision(2) << 100 * times.host / times.median << " %\n";
  return 0;
}

}  // namespace

void add_bench_train_step(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<TrainStepBench>();
  auto recorded = std::make_shared<std::string>(), configured = std::make_shared<std::string>();
  CLI::App* command = bench.add_subcommand("train-step", "the time of a training step");
  command->add_option("--model", options->model, "a classifier's name, or lstm")
      ->capture_default_str();
  add_devices(*command, options->devices);
  add_batch(*command, options->batch, "examples of a step, over all devices");
  add_threads(*command, options->threads);
  CLI::Option* steps = command->add_option("--steps", options->steps, "number of timed steps")
                           ->capture_default_str()
                           ->check(CLI::Range(1, 10000));
  command->add_option("--precision", options->precision, "float32, bfloat16 or float16")
      ->capture_default_str();
  command->add_flag("--tf32", options->tf32,
                    "let GPUs round float32 operands of matrix products and convolutions to TF32");
  command->add_flag("--exact", options->exact,
                    "compute float32 convolutions directly on CPUs, never by Winograd's method, "
                    "and fold no batch norm into a convolution");
  command->add_flag("--bytes", options->bytes, "images are bytes, which the step normalises");
  command
      ->add_option("--feed", options->feed,
                   "where the batch is: resident (on the devices), or copied from the host: ahead "
                   "(during the previous step) or in_turn (when the step begins)")
      ->capture_default_str()
      ->check(CLI::IsMember(kFeeds));
  CLI::Option* profile = command->add_flag(
      "--profile", options->profile, "print the time by operator; for one device also its rates");
  const TraceFlags trace = add_trace(*command, options->trace);
  trace.file->excludes(profile);
  add_json(*command, options->as_json);
  CLI::Option* config = command->add_option(
      "config", *configured,
      "CONFIG.yaml, and KEY VALUE pairs: the steps of this configuration on its "
      "own data, with its devices and threads; first and later steps, memory");
  command->allow_extras();
  CLI::Option* against = command->add_option(
      "--against", *recorded,
      "repeat the steps of this file, a line of --json for each; fails if a step has "
      "become slower by more than a tenth");
  for (CLI::Option* option : command->get_options()) {
    if (option != against && option != steps && option != command->get_help_ptr())
      against->excludes(option);
    if (option != config && option != steps && option != command->get_help_ptr() &&
        option != profile && option != trace.file && option != trace.steps &&
        option->get_name() != "--json")
      config->excludes(option);
  }
  command->footer(
      "Example:  lockstep bench train-step --model resnet50 --batch 16 --profile\n"
      "          lockstep bench train-step configs/detection/scenes_faster_rcnn_fpn.yaml "
      "--profile\n"
      "          lockstep bench train-step --model resnet18 --devices 'cpu*2' --trace trace.json\n"
      "          lockstep bench train-step --against before.json");
  command->callback([=, &chosen] {
    const std::vector<std::string> words = command->remaining();
    if (!words.empty()) {
      const std::string& first = words.front();
      check(!first.starts_with("-"), "unknown option '", first,
            "'; lockstep bench train-step --help lists the options");
      check(!configured->empty(), "train-step: unknown word '", first,
            "'; KEY VALUE pairs follow a CONFIG.yaml");
    }
    chosen = [=] {
      check_trace_file(options->trace);
      if (!configured->empty())
        return bench_train_config({*configured, words, options->steps, options->profile,
                                   options->as_json, options->trace});
      return recorded->empty() ? bench_train_step(*options) : bench_against(*recorded, *options);
    };
  });
}

}  // namespace lockstep
