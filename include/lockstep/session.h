// SPDX-License-Identifier: Apache-2.0
// Session: holds the state of one TrainingModel on a list of devices and runs its graphs there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/device.h"
#include "lockstep/feeds.h"
#include "lockstep/model_files.h"
#include "lockstep/results.h"
#include "lockstep/session_options.h"
#include "lockstep/tensor.h"
#include "lockstep/training_model.h"

namespace lockstep {

// One graph of a session with fixed feeds and fetches. A new batch shape gets a new plan; the last
// sixteen plans are kept and share one arena for each worker.
class Program {
 public:
  struct Members;
  explicit Program(std::unique_ptr<Members> members);  // a session makes programs
  ~Program();

  const std::vector<std::string>& feeds() const;
  const std::vector<std::string>& fetches() const;

  // Runs the graph with feeds in the order of feeds(). The result, in the order of fetches(), is
  // valid until the next run of this program or of a program that shares its memory; a fetched
  // state, until the next run of any program. Throws for feeds of a wrong number, type or shape,
  // and if the session's state has no values yet.
  std::span<const Tensor> run(std::span<const Tensor> feeds, const RunOptions& options);

  // On asynchronous devices, copies the feeds of the next run while a run is under way
  // (RunOptions::meanwhile). The next run needs the same feeds and RunOptions::fed_ahead; after
  // that run the memory of the feeds may be reused. No effect before the first run with these
  // shapes.
  void feed_ahead(std::span<const Tensor> feeds);

  // The plan for the shapes of these feeds, as text. Makes the plan if there is none yet.
  std::string plan_text(std::span<const Tensor> feeds);
  // The bytes of the arenas, which are as large as the plans that have run need them.
  std::size_t arena_bytes() const;

  // For the runtime itself: runtime/state/session_members.h.
  Members& members() { return *members_; }
  const Members& members() const { return *members_; }

 private:
  std::unique_ptr<Members> members_;
};

// Trains and predicts with one model. Not copyable: programs refer to their session.
class Session {
 public:
  // Replica k runs on devices[k]; auxiliary devices follow. `model` and `kernels` must outlive the
  // session.
  Session(const TrainingModel& model, std::vector<Device> devices,
          const std::vector<KernelTable>& kernels, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;

  const TrainingModel& model() const;
  const std::vector<Device>& devices() const;
  int threads() const;  // of each CPU replica
  Comm* comm() const;   // null for a single process

  // Runs the init graph: its results depend on the seed alone, bit for bit, on any device.
  void initialise();
  // Sets values by full name; states not in `values` keep theirs.
  void load(const StateValues& values);
  StateValues save() const;  // all states except a resident batch
  // One state by its full name. read() and write() throw for an unknown name, with the nearest
  // name; write() also if type or shape differ.
  Literal read(const std::string& state) const;
  void write(const std::string& state, const Literal& value);

  // Runs step number `step` of the training. The result is valid until the next step.
  Results run_step(Feeds& feeds, uint64_t step) { return run_step(feeds, run_options(step)); }
  Results run_step(Feeds& feeds, const RunOptions& options) {
    return {model(), step().run(feeds.tensors(), options), feeds.shares()};
  }
  // The step by position. Feeds: every model input of every replica, input by input, replicas
  // inside. Fetches: losses, then metrics, then checks, in the same order; then, for a forward pass
  // without a loss, the outputs of its network.
  Program& step();
  // Prediction, on replica 0's device with replica 0's state. Feeds: the inference graph's inputs.
  Program& inference();

  // Another program over the session's state: any graph of the model, with any feeds and fetches.
  // Its memory is separate, or shared with `beside`: then only one of the two holds its results at
  // a time. `graph` and the session must outlive the program.
  std::unique_ptr<Program> program(const Graph& graph, std::vector<std::string> feeds,
                                   std::vector<std::string> fetches, std::vector<Binding> updates,
                                   const Program* beside = nullptr);

  // The step, or the prediction, of the same network written for images of another size; the states
  // of `model` must be this model's. Shares memory with step(), or inference(): only one of the two
  // holds its results at a time. `model` must outlive the program; Feeds and Results of the step
  // are made for `model`.
  std::unique_ptr<Program> step_of(const TrainingModel& model);
  std::unique_ptr<Program> inference_of(const TrainingModel& model);

  RunOptions run_options(uint64_t step) const;

  // For the runtime itself: runtime/state/session_members.h.
  struct Members;
  Members& members() { return *members_; }
  const Members& members() const { return *members_; }

 private:
  std::unique_ptr<Members> members_;
};

// Names the first non-finite fed value with its input, replica and position; "" if all are finite.
// `feeds`: a step's.
std::string fed_not_finite(const TrainingModel& model, std::span<const Tensor> feeds);

}  // namespace lockstep
