// SPDX-License-Identifier: Apache-2.0
// Compares a batch that is loaded once with minibatches that the host feeds at every step.
#include <algorithm>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/format.h"
#include "builders/resident/load.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/resident.h"
#include "tools/bench/bench.h"
#include "tools/bench/options.h"
#include "tools/bench/random_rows.h"

namespace lockstep {
namespace {

constexpr float kRate = 0.01F;
constexpr uint64_t kSeed = 1;

struct ResidentBench {
  std::vector<std::string> networks{"mlp", "lenet", "lstm"};
  std::string devices = "cpu";
  int64_t rows = 6400;  // of the batch
  int64_t batch = 64;   // rows of a minibatch, over all devices
  int64_t epochs = 10;
  int threads = 0;  // per replica; 0: an equal share of the cores
  bool as_json = false;
};

// Reads a digit line by line.
void lstm_of_lines(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 28, 28}});
  const RecurrentOutputs read = lstm_layer(net, x, 64, {.batch_first = true}, "lstm");
  classify(net, fc_layer(net, flatten(net.graph, read.last_h[0], 1, "last"), 10, {}, "pred"));
}

ModelFn network_named(const std::string& name) {
  return name == "lstm" ? ModelFn(lstm_of_lines) : model_named(name, published_options(name));
}

// A batch on the host.
struct HostBatch {
  Literal data, label;
};

HostBatch random_batch(const TrainingModel& model, int64_t rows) {
  PhiloxSequence random(kSeed, 1);
  const auto of = [&](const char* input) {
    const auto is = [&](const StepInput& each) { return each.name == input; };
    const auto found = std::find_if(model.inputs.begin(), model.inputs.end(), is);
    check(found != model.inputs.end(), "the network has no input '", input, "'");
    const TensorType& type = model.step.type(model.step.at(found->values[0]));
    Shape shape = type.shape;
    shape[0] = rows;
    return random_rows(type.dtype, to_dims(shape), 10, random);
  };
  return {of("data"), of("label")};
}

// Arranges rows minibatch after minibatch, so that a feed reads consecutive rows on any number of
// replicas.
Literal by_minibatch(const Literal& batch, const ResidentLoad& load) {
  Dims dims = batch.dims();
  dims[0] = load.loaded;
  Literal arranged(batch.dtype(), dims);
  std::byte* to = arranged.bytes().data();
  for (int64_t i = 0; i < load.minibatches(); ++i)
    for (int64_t k = 0; k < load.replicas; ++k) {
      const Tensor rows =
          rows_from(view_of(batch), {load.rows_of(k).first + i * load.minibatch, load.minibatch});
      to = std::copy_n(rows.as<std::byte>(), rows.desc.bytes(), to);
    }
  return arranged;
}

struct Measured {
  std::string network;
  ResidentLoad load;
  std::size_t bytes = 0;
  double resident = 0, fed = 0;  // seconds of an epoch, medians
  double feeding = 0;            // part of `fed`, at the speed of copying the feeds
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Measured measure(const std::string& network, const ResidentBench& options) {
  const std::vector<Device> devices = parse_devices(options.devices);
  DataParallelOptions step = replicas_on(devices);
  const int64_t minibatch = options.batch / step.replicas;
  check(minibatch >= 1, "a minibatch of ", options.batch, " rows is too small for ", step.replicas,
        " devices");
  const TrainingModel plain =
      build_data_parallel_model(all_ops(), network_named(network), MomentumSgd{}, step);
  step.resident = {{"data", "label"}, {}, {minibatch, options.rows, 1}};
  const TrainingModel holding =
      build_data_parallel_model(all_ops(), network_named(network), MomentumSgd{}, step);
  const HostBatch batch = random_batch(plain, options.rows);

  Session holds(holding, devices, all_kernels(), {.threads = options.threads}),
      takes(plain, devices, all_kernels(), {.threads = options.threads});
  holds.initialise();
  takes.initialise();
  ResidentBatch resident(holds);
  resident.feeds().set(Role::rate, kRate);
  Measured result{network,
                  resident.load({{"data", view_of(batch.data)}, {"label", view_of(batch.label)}})};
  result.bytes = resident.bytes();
  const ResidentLoad& load = result.load;
  const Literal data = by_minibatch(batch.data, load), label = by_minibatch(batch.label, load);
  Feeds feeds(plain);
  feeds.set(Role::rate, kRate);
  const auto feed_and_step = [&](int64_t index, uint64_t number) {
    const Rows rows{index * load.replicas, load.minibatch * load.replicas};
    feeds.set("data", rows_from(view_of(data), rows));
    feeds.set("label", rows_from(view_of(label), rows));
    takes.run_step(feeds, number);
  };
  std::vector<std::byte> copied(data.bytes().size() + label.bytes().size());
  const auto copy_only = [&](int64_t index) {
    std::byte* to = copied.data();
    for (const Literal* from : {&data, &label}) {
      const Tensor rows =
          rows_from(view_of(*from), {index * load.replicas, load.minibatch * load.replicas});
      std::memcpy(to, rows.data, rows.desc.bytes());
      to += rows.desc.bytes();
    }
  };
  resident.optimize(0, 0);  // makes plans, and touches all memory
  feed_and_step(0, 0);
  std::vector<double> held, fed, copied_only;  // seconds of each epoch
  uint64_t number = 1;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {  // in turns, for a busy machine
    auto start = std::chrono::steady_clock::now();
    const uint64_t next = resident.sweep({1, kSeed, epoch, number});
    held.push_back(seconds_since(start));
    start = std::chrono::steady_clock::now();
    for (int64_t index : sweep_order(load, 1, kSeed, epoch)) feed_and_step(index, number++);
    fed.push_back(seconds_since(start));
    start = std::chrono::steady_clock::now();
    for (int64_t index : sweep_order(load, 1, kSeed, epoch)) copy_only(index);
    copied_only.push_back(seconds_since(start));
    check(number == next, "a sweep took ", next, " steps, feeding ", number);
  }
  result.resident = median_of(held);
  result.fed = median_of(fed);
  result.feeding = median_of(copied_only);
  check(holds.save() == takes.save(), network,
        ": slices of a resident batch and the same rows fed ", "have trained different parameters");
  return result;
}

int bench_resident(const ResidentBench& options) {
  nlohmann::json rows = nlohmann::json::array();
  if (!options.as_json)
    std::cout << options.epochs << " epochs on " << options.devices << ", minibatches of "
              << options.batch << " rows; seconds of an epoch, medians\n"
              << "network     rows       bytes  resident s     fed s  of it feeding   times\n";
  for (const std::string& network : options.networks) {
    const Measured m = measure(network, options);
    rows.push_back({{"network", m.network},
                    {"devices", options.devices},
                    {"rows", m.load.loaded},
                    {"bytes", m.bytes},
                    {"epochs", options.epochs},
                    {"resident_seconds", m.resident},
                    {"fed_seconds", m.fed},
                    {"feeding_seconds", m.feeding}});
    if (!options.as_json)
      std::cout << std::left << std::setw(8) << m.network << std::right << std::setw(8)
                << m.load.loaded << std::setw(12) << m.bytes << std::fixed << std::setprecision(3)
                << std::setw(12) << m.resident << std::setw(10) << m.fed << std::setprecision(1)
                << std::setw(12) << 100 * m.feeding / m.fed << " %" << std::setprecision(2)
                << std::setw(9) << m.fed / m.resident << std::endl;
  }
  if (options.as_json) std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_bench_resident(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<ResidentBench>();
  CLI::App* command = bench.add_subcommand(
      "resident", "sweeps over a batch that stays on the devices, against feeding its minibatches");
  command
      ->add_option("--model", options->networks,
                   "a classifier's name, or lstm; by default mlp, lenet and lstm")
      ->expected(1);
  add_devices(*command, options->devices);
  add_batch(*command, options->batch, "rows of a minibatch, over all devices");
  command->add_option("--rows", options->rows, "rows of the batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000));
  command->add_option("--epochs", options->epochs, "sweeps over the batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  add_threads(*command, options->threads);
  add_json(*command, options->as_json);
  command->footer("Example:  lockstep bench resident --devices 'cpu*2'");
  command->callback([=, &chosen] { chosen = [=] { return bench_resident(*options); }; });
}

}  // namespace lockstep
