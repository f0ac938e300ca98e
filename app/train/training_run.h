// SPDX-License-Identifier: Apache-2.0
// One training run: model, data, session, and the files in its folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/train/learning.h"
#include "app/train/partitioned_steps.h"
#include "app/train/search.h"
#include "app/train/slowest_rank.h"
#include "lockstep/checkpoint.h"
#include "lockstep/loader.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The settings and digests of data that a checkpoint of the prepared task stores.
Metadata to_be_remembered(Learning& task);

// The supply of data for the steps.
struct DataSupply {
  double waited = 0;             // seconds that steps have waited so far
  std::optional<int64_t> queue;  // minibatches that are ready; none if data are gathered, not read
};

class TraceRecorder;

class TrainingRun {
 public:
  // `comm` connects the processes of the run, or is null. All processes make the same calls. Data
  // is read, or drawn, only after configuration, devices and weights have been checked. `task` must
  // outlive the run; `steps` are its own_steps(). `threads` is the number for each replica; 0: an
  // equal share of the cores.
  TrainingRun(Learning& task, std::vector<TrainingModel> steps, int threads, Comm* comm);
  TrainingRun(Learning& task, int threads, Comm* comm)
      : TrainingRun(task, own_steps(task, comm), threads, comm) {}

  ~TrainingRun();

  // Starts from the seed, or from a checkpoint of the same model and data; returns the number of
  // completed steps.
  int64_t start();
  int64_t resume(const std::string& checkpoint);

  // Runs step number `step`. If any process's loss is not finite, all processes report it, repeat
  // the run from the last start or save with every value checked, and throw naming the first
  // non-finite value. All processes learn of the loss within a tenth of a second, and before
  // anything is saved or tested.
  StepResult step(int64_t step);
  using Say = std::function<void(const std::string& line)>;
  void speak_by(Say say) { say_ = std::move(say); }
  // Throws, and leaves the file unchanged, if the last step made non-finite numbers. `more` is
  // further metadata for resuming.
  void save(const std::string& checkpoint, int64_t steps_done, const Metadata& more);
  // The metadata of the resumed checkpoint.
  const Metadata& resumed() const { return resumed_; }
  // The reason why a resumed run may have other bits than an uninterrupted run; "" if nothing
  // changed.
  std::string change_of_bits() const;

  Session& session() { return *session_; }
  // The names of a step's numbers besides its loss: the model's numbers, then the rounds' numbers.
  const std::vector<std::string>& number_names() const { return number_names_; }
  DataSupply supply() const;
  // The times of all steps so far, of this process.
  const RankTimes& spent() const { return spent_; }
  // Records the following steps; null: no longer. The recorder must outlive the recording.
  void trace_by(TraceRecorder* recorder);
  // The report of start() on the first weights, or of resume() on its checkpoint.
  const std::vector<std::string>& weights_report() const { return weights_report_; }

 private:
  // The step for minibatches of one form. Without minibatches there is one form, and the rounds
  // have their own feeds.
  struct Form {
    explicit Form(TrainingModel of) : model(std::move(of)) {}
    TrainingModel model;
    MinibatchForm tensors = {};
    std::optional<Feeds> feeds = {};
    std::unique_ptr<Program> own = {};  // null: the session's own step
    Program* step = nullptr;
  };

  static std::vector<std::unique_ptr<Form>> forms_with(std::vector<TrainingModel> steps);
  void set_first_values();
  void open_data(const std::string& rounds);
  int64_t processes() const { return comm_ ? comm_->size() : 1; }
  const TrainingModel& model() const { return forms_.front()->model; }
  Form& form_of(int64_t step);
  Form& feed(int64_t step);
  void feed_ahead(int64_t step);
  void set_rates(Form& form, int64_t step) const;
  Form& set_rows(int64_t step);
  // Checks every value if `not_finite` is given.
  StepResult run_step(int64_t step, NotFinite* not_finite = nullptr);
  StepResult timed_step(int64_t step);
  bool ends_window(int64_t step) const;
  void check_losses(int64_t step);
  std::string intact() const;
  // The first non-finite value that this step was fed, or "".
  std::string fed_in(int64_t step);
  [[noreturn]] void explain(const BadLoss& bad);
  // The first step with a non-finite value, from the last start or save up to `last`.
  struct Found {
    int64_t step = 0;
    Suspect culprit;
  };
  Found search(int64_t last);

  Learning& task_;
  const TrainSettings& settings_;
  Comm* comm_;
  int64_t replicas_;  // of all processes
  std::vector<std::unique_ptr<Form>> forms_;
  std::vector<std::string> number_names_;
  std::unique_ptr<Session> session_;
  Rounds* rounds_ = nullptr;        // null: minibatches
  std::unique_ptr<Loader> loader_;  // of minibatches
  int64_t ahead_ = -1;              // the step with rows set, and sent if possible; -1: none
  int64_t skipped_in_a_row_ = 0;
  std::string last_checkpoint_;  // the starting point of explain(); "": the seed
  int64_t last_start_ = 0;
  Metadata resumed_;
  double data_seconds_ = 0;
  RankTimes spent_;
  TraceRecorder* recorder_ = nullptr;
  std::vector<std::string> weights_report_;
  LossWatch losses_;
  Say say_ = [](const std::string&) {};
};

}  // namespace lockstep
