// SPDX-License-Identifier: Apache-2.0
// Steps of a network with a large embedding. The embedding's gradient is summed as a whole or by
// rows.
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "runtime/dist/gloo.h"
#include "tools/bench/bench.h"
#include "tools/bench/medians.h"
#include "tools/bench/options.h"
#include "tools/bench/random_rows.h"

namespace lockstep {
namespace {

constexpr int kEmbeddingSteps = 201;

struct EmbeddingBench {
  std::string devices = "cpu*2";
  int64_t words = 50'000;  // of the table
  bool as_json = false;
};

constexpr int64_t kShare = 32, kTokens = 32, kDimensions = 64, kClasses = 10;

// Classifies the mean of an example's words.
ModelFn mean_of_words(int64_t words) {
  return [words](Net& net) {
    const Value data = net.input("data", {DType::int64, {"N", kTokens}});
    const Value read = embedding_layer(net, data, words, kDimensions, {}, "words");
    const Value mean = reduce_mean(net.graph, read, {1}, false, "mean");
    classify(net, fc_layer(net, mean, kClasses, {}, "pred"));
  };
}

class EmbeddingSteps {
 public:
  EmbeddingSteps(const EmbeddingBench& options, EmbeddingSum sum, Comm* comm)
      : model_(model_of(options, sum, comm)),
        session_(model_, parse_devices(options.devices), all_kernels(), {.comm = comm}),
        feeds_(model_) {
    session_.initialise();
    PhiloxSequence random(1, static_cast<uint64_t>(model_.first_replica));
    const int64_t rows = kShare * model_.replicas;
    data_ = random_rows(DType::int64, {rows, kTokens}, options.words, random);
    label_ = random_rows(DType::int64, {rows}, kClasses, random);
    feeds_.set(Role::rate, 0.1F);
    feeds_.set("data", view_of(data_));
    feeds_.set("label", view_of(label_));
  }
  void step() { session_.run_step(feeds_, number_++); }
  std::string choice() const { return model_.metadata.at("embedding words_w"); }

 private:
  static TrainingModel model_of(const EmbeddingBench& options, EmbeddingSum sum, Comm* comm) {
    DataParallelOptions step = replicas_on(parse_devices(options.devices));
    step.replicas *= comm ? comm->size() : 1;
    check(step.replicas > 1,
          "one replica sums nothing; use --devices 'cpu*2' or several processes");
    step.embeddings = sum;
    step.share = kShare;
    TrainingModel whole = build_data_parallel_model(all_ops(), mean_of_words(options.words),
                                                    MomentumSgd{.momentum = 0.9F}, step);
    return comm ? partition(whole, {comm->rank(), comm->size()}) : std::move(whole);
  }

  TrainingModel model_;
  Session session_;
  Feeds feeds_;
  Literal data_, label_;
  uint64_t number_ = 0;
};

int bench_embedding(const EmbeddingBench& options) {
  const std::unique_ptr<Comm> comm = join_world(world_of_environment());
  EmbeddingSteps whole(options, EmbeddingSum::dense, comm.get()),
      rows(options, EmbeddingSum::sparse, comm.get());
  const std::vector<double> seconds =
      median_seconds(kEmbeddingSteps, {[&] { whole.step(); }, [&] { rows.step(); }});
  if (comm && comm->rank() != 0) return 0;
  const int processes = comm ? comm->size() : 1;
  if (options.as_json) {
    std::cout << nlohmann::json{{"devices", options.devices},  {"processes", processes},
                                {"words", options.words},      {"choice", rows.choice()},
                                {"whole_seconds", seconds[0]}, {"rows_seconds", seconds[1]}}
                     .dump(2)
              << "\n";
    return 0;
  }
  std::cout << "a table of " << options.words << " x " << kDimensions << ", " << kShare
            << " examples of " << kTokens << " words for each replica; " << processes << " x "
            << options.devices << "\n"
            << rows.choice() << "\n"
            << std::fixed << std::setprecision(2) << "as a whole " << std::setw(10)
            << 1e3 * seconds[0] << " ms\nby rows    " << std::setw(10) << 1e3 * seconds[1] << " ms"
            << std::setw(9) << seconds[0] / seconds[1] << " x\n";
  return 0;
}

}  // namespace

void add_bench_embedding(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<EmbeddingBench>();
  CLI::App* command = bench.add_subcommand(
      "embedding", "a step whose embedding's gradient is summed as a whole, or by its rows");
  add_devices(*command, options->devices);
  command->add_option("--words", options->words, "rows of the table")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000));
  add_json(*command, options->as_json);
  command->footer("Example:  lockstep bench embedding --devices 'cpu*2'");
  command->callback([=, &chosen] { chosen = [=] { return bench_embedding(*options); }; });
}

}  // namespace lockstep
