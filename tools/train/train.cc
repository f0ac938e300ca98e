// lockstep train: the loop around a TrainingRun, and its files.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "graph/file.h"
#include "graph/io.h"
#include "runtime/agree.h"
#include "runtime/rendezvous.h"
#include "runtime/safetensors.h"
#include "tools/command.h"
#include "tools/train/config.h"
#include "tools/train/metrics.h"
#include "tools/train/report.h"
#include "tools/train/training_log.h"
#include "tools/train/training_run.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  std::string config;
  std::string devices;
  bool resume = false;
};

class TrainCommand {
 public:
  // Of several processes rank 0 writes the files and speaks; the others only train.
  TrainCommand(const TrainConfig& config, bool resume, Comm* comm)
      : config_(config),
        comm_(comm),
        leads_(!comm || comm->rank() == 0),
        folder_(config.output_dir),
        goes_on_(decided_by_rank_0([&] {
          prepare_folder(resume);
          return resume && fs::exists(checkpoint());
        })),
        run_(with_saved_threads(), comm) {
    first_ = goes_on_ ? run_.resume(checkpoint()) : run_.start();
    log_ = std::make_unique<TrainingLog>(config_, comm_, first_);
    if (!leads_) return;
    if (first_ == 0) save_model(run_.session().model(), folder_ + "/step.onnx");
    write_file(folder_ + "/config.txt", config_text());
  }

  int run() {
    log_->note(join(network(), " on ", comm_ ? join(comm_->size(), " processes of ") : "",
                    run_.session().devices().size(), " x ",
                    text_of(run_.session().devices()[0]).substr(0, 3), ", ",
                    run_.session().threads(),
                    run_.session().threads() == 1 ? " thread each, " : " threads each, ",
                    config_.batch_size, " images a step -> ", folder_));
    for (const std::string& line : run_.weights_report()) log_->note(line);
    if (first_ > 0) log_->note(join("resumed after iteration ", first_));
    start_ = std::chrono::steady_clock::now();
    log_->start_window(run_.data_seconds());
    const int64_t last = config_.schedule.max_iter;
    for (int64_t step = first_; step < last; ++step) {
      log_->rate(step);
      const StepResult result = run_.step(step);
      log_->step(step, result, run_.data_seconds());
      if ((step + 1) % config_.drift_iters == 0 || step + 1 == last) check_drift(step);
      if ((step + 1) % config_.snapshot_iters == 0) run_.save(checkpoint(), step + 1);
      if ((step + 1) % config_.test_iters == 0 && step + 1 < last) test(step);
    }
    run_.save(checkpoint(), last);
    TestResult result = test(last - 1);
    if (!leads_) return 0;
    write_report(result);
    log_->note(join("held-out accuracy ", fixed(100 * result.accuracy, 2), " % after ", last,
                    " iterations, ", fixed(seconds_since(start_), 1), " s; open ", folder_,
                    "/report.html"));
    return 0;
  }

 private:
  // Replicas compute the same update from the same sums; when their bits differ something is
  // broken.
  void check_drift(int64_t step) {
    const std::string drift = find_drift(run_.session());
    check(drift.empty(), "after iteration ", step + 1, " replicas have drifted apart: ", drift,
          "; the last checkpoint is from before");
  }

  // A new run never overwrites the checkpoint of an old one: that moves to <folder>.previous.
  void prepare_folder(bool resume) const {
    const fs::path folder = folder_;
    try {
      if (!resume && fs::exists(folder / "checkpoint.safetensors")) {
        fs::path previous = folder;
        previous += ".previous";
        fs::remove_all(previous);
        fs::rename(folder, previous);
      }
      fs::create_directories(folder);
    } catch (const fs::filesystem_error& error) {
      fail("OUTPUT_DIR: ", error.what());
    }
  }

  template <class Decide>
  bool decided_by_rank_0(const Decide& decide) {
    const bool mine = leads_ && decide();
    return comm_ ? share_text(*comm_, mine ? "yes" : "no", "whether to resume") == "yes" : mine;
  }

  // The order of a sum inside a convolution can depend on the number of threads: a run goes on with
  // as many as it began with, wherever it is resumed. All processes ask, since some may have
  // THREADS of their own and some not.
  TrainConfig with_saved_threads() const {
    TrainConfig config = config_;
    if (!goes_on_) return config;
    std::string threads = "0";
    if (leads_) {
      Metadata metadata = read_safetensors(checkpoint()).metadata;
      const auto replicas = parse_devices(config.devices).size() *
                            static_cast<std::size_t>(comm_ ? comm_->size() : 1);
      if (metadata["replicas"] == std::to_string(replicas)) threads = metadata["threads"];
    }
    if (comm_) threads = share_text(*comm_, threads, "the number of threads");
    if (config.threads == 0) config.threads = std::atoll(threads.c_str());
    return config;
  }

  std::string network() const {
    return config_.onnx.empty() ? config_.model : fs::path(config_.onnx).filename().string();
  }
  std::string checkpoint() const { return folder_ + "/checkpoint.safetensors"; }

  std::string config_text() const {
    std::string text;
    for (const auto& [key, value] : config_.entries()) text += key + ": " + value + "\n";
    return text;
  }

  TestResult test(int64_t step) {
    const auto start = std::chrono::steady_clock::now();
    TestResult result = run_.held_out().test();
    log_->test(step, result.accuracy, seconds_since(start));
    return result;
  }

  void write_report(const TestResult& result) {
    Report report;
    report.title = join("Lockstep: ", network(), " on ", config_.dataset);
    report.metrics = read_metrics(folder_ + "/metrics.jsonl");
    double images = 0, rows = 0;
    for (const MetricRow& row : report.metrics)
      if (double rate = value_of(row, "images_per_second"); std::isfinite(rate))
        images += rate, ++rows;
    report.facts = {{"held-out accuracy", fixed(100 * result.accuracy, 2) + " %"},
                    {"iterations", std::to_string(config_.schedule.max_iter)},
                    {"images a second", fixed(rows > 0 ? images / rows : 0, 0)},
                    {"replicas", config_.devices},
                    {"seed", std::to_string(config_.seed)}};
    report.config = config_.entries();
    report.samples = result.samples;
    report.confusion = result.confusion;
    write_file(folder_ + "/report.html", html_of(report));
  }

  TrainConfig config_;
  Comm* comm_;
  bool leads_;
  std::string folder_;
  bool goes_on_;
  TrainingRun run_;
  int64_t first_ = 0;
  std::unique_ptr<TrainingLog> log_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

void add_train(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = app.add_subcommand("train", "train what a CONFIG.yaml describes");
  command->add_option("config", options->config, "CONFIG.yaml")->required();
  // Not an option: CLI11 would take the brackets of a list apart.
  command->allow_extras();
  command->add_option("--devices", options->devices,
                      "one replica per device: cpu*2, gpu*8, gpu:local");
  command->add_flag("--resume", options->resume, "go on from the run's last checkpoint");
  command->footer(
      "Example:  lockstep train configs/lenet_digits.yaml --devices cpu*4 SOLVER.MAX_ITER 300\n"
      "KEY VALUE pairs after it replace what the file says. Several processes: `lockstep launch`,\n"
      "torchrun, mpirun or srun around it; --devices are each process's own.");
  command->callback([options, command, &chosen] {
    std::vector<std::string> overrides = command->remaining();
    for (const std::string& word : overrides)
      if (word.rfind("--", 0) == 0) throw CLI::ExtrasError({word});
    chosen = [options, overrides]() mutable {
      if (!options->devices.empty())
        overrides.insert(overrides.end(), {"DEVICES", options->devices});
      const std::unique_ptr<Comm> comm = join_world(world_of_environment());
      try {
        const TrainConfig config = read_config(options->config, overrides, comm ? comm->size() : 1);
        return TrainCommand(config, options->resume, comm.get()).run();
      } catch (const std::exception& error) {
        if (comm) comm->give_up(error.what());
        throw;
      }
    };
  });
}

}  // namespace lockstep
