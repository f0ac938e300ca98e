// SPDX-License-Identifier: Apache-2.0
// The members of a Session and of its Programs, for the runtime and for everybody who looks at
// plans and states: states_of(), plan_of().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/run_spans.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/plan.h"
#include "runtime/state/sharing.h"

namespace lockstep {

struct ProgramSpec {
  const TrainingModel& model;
  const Graph& graph;
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<Binding> updates;
  std::size_t losses = 0;   // the first `losses` fetches are losses, which should be finite
  bool is_initial = false;  // sets the first values of the states
};

struct Program::Members {
  Members(Session::Members& session, ProgramSpec spec, std::shared_ptr<ArenaPool> arenas);

  void run(Executor& executor, std::span<const Tensor> feeds, const RunOptions& options);
  // The executor for feeds of these shapes, made on first use.
  Executor& executor(std::span<const Tensor> feeds);
  Executor* known_executor(std::span<const Tensor> feeds);  // null: none was made for these shapes
  void check_count(std::span<const Tensor> feeds) const;
  void check_losses(std::span<const Tensor> feeds, const Executor& executor) const;
  // True if feeds that replicas have in common are equal.
  bool fed_alike(std::span<const Tensor> feeds) const;

  Session::Members& session;
  ProgramSpec spec;
  // For a program that updates states: positions in the feeds that all replicas are fed alike, such
  // as the rate.
  std::vector<std::vector<std::size_t>> common_feeds;
  std::shared_ptr<ArenaPool> arenas;
  std::vector<std::unique_ptr<Executor>> cache;  // most recently used first
  int moves = 0;                                 // States::moves() when the executors were made
};

// The runs of all programs of a session so far.
struct RunTotals {
  double seconds = 0;
  double waited = 0;  // Executor::waited()
};

struct Session::Members {
  Members(const TrainingModel& model, std::vector<Device> devices,
          const std::vector<KernelTable>& kernels, const SessionOptions& options);

  std::unique_ptr<Program> make_program(ProgramSpec spec, std::shared_ptr<ArenaPool> arenas);
  std::unique_ptr<Program> make_step(const TrainingModel& model, std::shared_ptr<ArenaPool> arenas);
  std::unique_ptr<Program> make_inference(const TrainingModel& model,
                                          std::shared_ptr<ArenaPool> arenas);
  std::shared_ptr<ArenaPool> new_arenas() const;

  const TrainingModel& model;
  std::vector<Device> devices;
  const std::vector<KernelTable>& kernels;
  Accelerator* accelerator;  // null: the host only
  SessionOptions options;
  int threads;
  Workers workers;
  States states;
  Sharing sharing;
  RunRecorder* recorder = nullptr;  // null: the times of runs are not recorded
  RunTotals totals;
  std::unique_ptr<Program> init;
  std::unique_ptr<Program> step;
  std::unique_ptr<Program> inference;
};

inline States& states_of(Session& session) { return session.members().states; }
inline const States& states_of(const Session& session) { return session.members().states; }

// The program's plan for feeds of these shapes, made on first use.
inline const Plan& plan_of(Program& program, std::span<const Tensor> feeds) {
  return program.members().executor(feeds).plan();
}

}  // namespace lockstep
