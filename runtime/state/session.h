// SPDX-License-Identifier: Apache-2.0
// Session: the public interface of the runtime. It holds the state of one TrainingModel on a list
// of devices and runs its three graphs there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/io.h"
#include "graph/training.h"
#include "runtime/answers.h"
#include "runtime/exec/executor.h"
#include "runtime/feeds.h"
#include "runtime/plan/compile.h"
#include "runtime/state/sharing.h"

namespace lockstep {

// One graph of a session with fixed feeds and fetches. A new batch shape gets a new plan; the last
// sixteen are kept. They share one arena for each worker.
class Program {
 public:
  struct Spec {
    const TrainingModel& model;
    const Graph& graph;
    std::vector<std::string> feeds;
    std::vector<std::string> fetches;
    std::vector<Binding> updates;
    std::size_t losses = 0;  // the first so many fetches are losses, which should be finite
  };

  const std::vector<std::string>& feeds() const { return spec_.feeds; }
  const std::vector<std::string>& fetches() const { return spec_.fetches; }

  // Runs with feeds in the order of feeds(). The result, in the order of fetches(), is valid until
  // the next run of this program or of one that shares its memory; a fetched state, until the next
  // run of any program. Throws if no state has a value yet.
  std::span<const Tensor> run(std::span<const Tensor> feeds, const RunOptions& options);

  // On asynchronous devices, begins to copy the feeds of the next run, which should say so
  // (RunOptions::fed_ahead), beside a run under way (RunOptions::meanwhile). Afterwards their
  // memory is free. No effect before the first run with these shapes.
  void feed_ahead(std::span<const Tensor> feeds);

  // The plan for these shapes, made on first use.
  const Plan& plan(std::span<const Tensor> feeds) { return executor(feeds).plan(); }
  // Of the arenas, as large as the plans that have run need them.
  std::size_t arena_bytes() const { return arenas_->bytes(); }

 private:
  friend class Session;
  Program(class Session& session, Spec spec, std::shared_ptr<ArenaPool> arenas);
  Executor& executor(std::span<const Tensor> feeds);
  Executor* known_executor(std::span<const Tensor> feeds);  // null: none was made for these shapes
  void check_count(std::span<const Tensor> feeds) const;
  void check_losses(std::span<const Tensor> feeds, const Executor& executor) const;
  bool fed_alike(std::span<const Tensor> feeds) const;

  class Session& session_;
  Spec spec_;
  // Of a program that updates states: the places in feeds() that all replicas are fed alike, such
  // as the rate's.
  std::vector<std::vector<std::size_t>> common_feeds_;
  std::shared_ptr<ArenaPool> arenas_;
  std::vector<std::unique_ptr<Executor>> cache_;  // most recently used first
  int moves_ = 0;                                 // States::moves when they were made
};

struct SessionOptions {
  uint64_t seed = 1;
  int threads = 0;  // per CPU replica; 0: an equal share of the cores
  CompileOptions compile = {};
  // To the other processes of the run, for a model cut into their shares
  // (builders/step/partition.h); must outlive the session.
  Comm* comm = nullptr;
};

class Session {
 public:
  // Replica k runs on devices[k]. `model` and `kernels` must outlive the session.
  Session(const TrainingModel& model, std::vector<Device> devices,
          const std::vector<KernelTable>& kernels, const SessionOptions& options = {});

  const TrainingModel& model() const { return model_; }
  const std::vector<Device>& devices() const { return devices_; }
  int threads() const { return threads_; }
  Comm* comm() const { return options_.comm; }
  States& state() { return state_; }
  const States& state() const { return state_; }

  // Runs the init graph: its results depend on the seed alone, bit for bit, on any device.
  void initialise();
  // Sets values by full name; states not in `values` keep theirs.
  void load(const StateValues& values);
  StateValues save() const;  // all but a resident batch

  // Runs step number `step` of the training.
  Answers run_step(Feeds& feeds, uint64_t step) { return run_step(feeds, run_options(step)); }
  Answers run_step(Feeds& feeds, const RunOptions& options) {
    return {model_, step_->run(feeds.tensors(), options), feeds.shares()};
  }
  // The same step by position. Feeds: every model input of every replica, input by input, replicas
  // inside; fetches: losses, then metrics, then checks, likewise; behind them, of a forward pass
  // without a loss, the outputs of its network.
  Program& step() { return *step_; }
  // Prediction, on replica 0's device with replica 0's state. Feeds: the inference graph's inputs.
  Program& inference() { return *inference_; }

  // Another program over the same state: any graph of the model, with any feeds and fetches. It has
  // memory of its own, or shares that of `beside`: only one of the two at a time holds its results.
  std::unique_ptr<Program> program(const Graph& graph, std::vector<std::string> feeds,
                                   std::vector<std::string> fetches, std::vector<Binding> updates,
                                   const Program* beside = nullptr);

  // The step, or the prediction, of the same network written for images of another size: its states
  // must be this model's. It shares memory with step(), or inference(): only one at a time holds
  // its results. `model` must outlive it; Feeds and Answers of the step are made for that model.
  std::unique_ptr<Program> step_of(const TrainingModel& model);
  std::unique_ptr<Program> inference_of(const TrainingModel& model);

  RunOptions run_options(uint64_t step) const { return {{options_.seed, step}}; }

 private:
  friend class Program;
  std::unique_ptr<Program> make_program(Program::Spec spec, std::shared_ptr<ArenaPool> arenas);
  std::unique_ptr<Program> make_step(const TrainingModel& model, std::shared_ptr<ArenaPool> arenas);
  std::unique_ptr<Program> make_inference(const TrainingModel& model,
                                          std::shared_ptr<ArenaPool> arenas);
  std::shared_ptr<ArenaPool> new_arenas() const;

  const TrainingModel& model_;
  std::vector<Device> devices_;
  const std::vector<KernelTable>& kernels_;
  Accelerator* accelerator_;  // null: the host only
  SessionOptions options_;
  int threads_;
  Workers workers_;
  States state_;
  Sharing sharing_;
  std::unique_ptr<Program> init_;
  std::unique_ptr<Program> step_;
  std::unique_ptr<Program> inference_;
};

// The first non-finite fed value, with its input, replica and place; "": none. `feeds`: a step's.
std::string fed_not_finite(const TrainingModel& model, std::span<const Tensor> feeds);

}  // namespace lockstep
