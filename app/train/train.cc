// SPDX-License-Identifier: Apache-2.0
#include "app/train/train.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>

#include "app/format.h"
#include "app/train/debug_lines.h"
#include "app/train/partitioned_steps.h"
#include "app/train/report_page.h"
#include "app/train/restart.h"
#include "app/train/run_place.h"
#include "app/train/saved_numbers.h"
#include "app/train/tests_so_far.h"
#include "app/train/trace_place.h"
#include "app/train/trained_files.h"
#include "app/train/training_log.h"
#include "app/train/training_run.h"
#include "app/train/training_trace.h"
#include "app/unused_auxiliaries.h"
#include "builders/all_reduce/spec.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"
#include "runtime/dist/interruption.h"
#include "runtime/nanoseconds.h"
#include "runtime/state/accelerators.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOpenWindow = "open window";
constexpr int64_t kMostReplicasOfAll = int64_t{1} << 32;

// Checks devices and weights before a data set is opened.
std::vector<TrainingModel> checked_steps(Task& task, const Resume& resume, Comm* comm) {
  return own_steps(task, comm, [&] {
    accelerator_of(all_kernels(), all_devices(task.settings().run));
    const bool leads = !comm || comm->rank() == 0;
    if (resume.wanted) return;
    task.check_start();
    if (const auto weights = task.first_weights(); weights && leads)
      read_safetensors_header(weights_file(place_of_weights(*weights)));
  });
}

// The loop of a run, with its log, files and page.
class RunLoop {
 public:
  RunLoop(Task& task, const TrainOptions& options, Comm* comm)
      : task_(task),
        settings_(task.settings()),
        comm_(comm),
        leads_(!comm || comm->rank() == 0),
        debug_(options.debug),
        steps_(checked_steps(task, options.resume, comm)),
        from_(take_place(options)),
        run_(task, std::move(steps_), threads(), comm),
        tests_(task, comm),
        unsummed_(unsummed_range(settings_.step.options.all_reduce.spec)) {
    first_ = from_.empty() ? run_.start() : run_.resume(from_);
    log_ = std::make_unique<TrainingLog>(task, run_.number_names(), comm_,
                                         LogOptions{folder(), first_, options.quiet});
    const TrainingModel& model = run_.session().model();
    if (unsummed_ && leads_ && std::max(model.replicas, model.whole_replicas) > 1)
      std::cerr << "lockstep: ALL_REDUCE " << unsummed_->algorithm
                << " sums no gradients, so the replicas will differ: they are not compared\n";
    if (const std::string unused = unused_auxiliaries_note(model); leads_ && !unused.empty())
      std::cerr << "lockstep: " << unused << "\n";
    run_.speak_by([this](const std::string& line) { log_->note(line); });
    trace_ = std::make_unique<TrainingTrace>(trace_by_launch(options.trace, task.series()), run_,
                                             task.work_unit(), comm_, *log_,
                                             TracedSteps{first_ + 1, settings_.schedule.max_iter});
    if (!leads_) return;
    if (first_ == 0) save_model(run_.session().model(), step_in(folder()));
    write_file(folder() + "/config.yaml", yaml_of(task.keys()));
    if (first_ > 0) point_latest_to(folder());
    files_ = std::make_unique<TrainedFiles>(folder(), task.score_kind(), run_.session(), first_,
                                            to_be_remembered(task));
    if (!files_->remark().empty()) log_->note(files_->remark());
    page_ = std::make_unique<ReportPage>(
        task, run_, *log_, ReportPageOptions{folder(), first_, comm_ ? comm_->size() : 1});
    trace_->tell([this](const TraceSummary& summary) { page_->traced(summary); });
  }

  int run() {
    try {
      return train();
    } catch (const LostRank& lost) {
      const std::string why = lost.what() + how_to_go_on();
      end_with(why);
      throw LostRank(why);
    } catch (const Error& error) {
      end_with(error.what());
      throw;
    }
  }

 private:
  int train() {
    log_->note(
        join(task_.network(), " on ", comm_ ? join(comm_->size(), " processes of ") : "",
             run_.session().model().replicas, " x ",
             text_of(run_.session().devices()[0]).substr(0, 3), ", ", run_.session().threads(),
             run_.session().threads() == 1 ? " thread each, " : " threads each, ",
             task_.work_unit().of_step, " ", task_.work_unit().name, " a step -> ", folder()));
    for (const std::string& line : task_.notes()) log_->note(line);
    for (const std::string& line : run_.weights_report()) log_->note(line);
    if (debug_)
      for (const std::string& line : debug_lines(run_.session().model())) log_->note(line);
    if (first_ > 0) log_->note(join("resumed after iteration ", first_, run_.change_of_bits()));
    start_ = std::chrono::steady_clock::now();
    log_->start_window(run_.supply(), run_.spent());
    if (const auto window = run_.resumed().find(kOpenWindow); window != run_.resumed().end())
      log_->go_on_with(window->second);
    if (first_ > 0) go_on_with_tests();
    int64_t last = tests_.is_over() ? first_ : settings_.schedule.max_iter;
    Interruption interruption(comm_);
    for (int64_t step = first_; step < last; ++step) {
      if (!interruption.may_begin(step)) return interrupted(step, interruption.signal());
      log_->rate(step);
      trace_->before(step);
      const StepResult result = run_.step(step);
      trace_->after(step);
      if (lock_ && step == first_) lock_->begun();
      const int64_t logs = nanoseconds_now();
      const bool closed = log_->step(step, result, run_.supply(), run_.spent());
      if (closed && page_) page_->refresh();
      if (closed) trace_->add("log", logs);
      if ((step + 1) % settings_.drift_iters == 0 || step + 1 == last) check_drift(step);
      // All records of a step are written before the checkpoint that follows it.
      if ((step + 1) % settings_.test_iters == 0 && step + 1 < last && test_or_save(step))
        last = step + 1;
      if ((step + 1) % settings_.snapshot_iters == 0 && step + 1 < last) save(step + 1);
    }
    save(last);
    trace_->end();
    if (last < settings_.schedule.max_iter) check_drift(last - 1);
    const HeldOutTest result = last_test_ ? std::move(*last_test_) : test(last - 1);
    check(result.trouble.empty(), result.trouble, " after iteration ", last,
          ": the output of the network is not finite. The learning rate was ",
          learning_rate(settings_.schedule, last - 1),
          "; lower SOLVER.BASE_LR or lengthen SOLVER.WARM_UP_ITERS. No model.onnx was written");
    say_skipped();
    if (!leads_) return 0;
    files_->finished(result, last);
    log_->ended(RunEnd::success);
    const std::string why = last < settings_.schedule.max_iter ? tests_.why() : "";
    page_->finished(why);
    if (!why.empty()) log_->note(why);
    log_->note(join(result.headline, " after ", last, " iterations, ",
                    fixed(seconds_since(start_), 1), " s; open ", folder(), "/report.html"));
    return 0;
  }

  // Saves the training so far if the test fails, for example on a held-out picture that cannot be
  // read. With several processes the others cannot save, so none does. Returns true if the run may
  // end.
  bool test_or_save(int64_t step) {
    try {
      HeldOutTest result = test(step);
      const bool ends = tests_.tested(result, step + 1);
      if (ends) last_test_ = std::move(result);
      return ends;
    } catch (const Error&) {
      if (!comm_) save(step + 1);
      throw;
    }
  }

  void go_on_with_tests() {
    const std::string forgotten = tests_.go_on_from(run_.resumed(), from_, first_);
    if (!forgotten.empty()) log_->note(forgotten);
  }

  void say_skipped() {
    if (const std::string bad = log_->bad_pictures(); !bad.empty())
      log_->note(join("pictures that cannot be read (TRAIN.SKIP_BAD_IMAGES): ", bad));
  }

  // The replica divergence check. Replicas compute the same update from the same sums, so different
  // bits mean a fault.
  void check_drift(int64_t step) {
    if (unsummed_) return;  // each replica has its own gradients, so replicas differ
    const std::string drift = find_divergence(run_.session());
    check(drift.empty(), "after iteration ", step + 1, " the replicas are not identical: ", drift,
          "; the last checkpoint was written before that");
  }

  // Rank 0 chooses the folder and holds the lock for all. Returns the checkpoint to resume, or "".
  std::string take_place(const TrainOptions& options) {
    std::string chosen;
    if (leads_) {
      RunPlace place = place_of(task_.series(), resume_by_launch(options.resume, task_.series()),
                                rules_of(task_, steps_[0], replicas_of_all()));
      check_trace_place(options.trace, place.from);
      chosen = place.lock->folder() + '\0' + place.from;
      lock_ = std::move(place.lock);
      note_run(lock_->folder());
    }
    if (comm_) chosen = share_text(*comm_, chosen, "the run's folder");
    folder_ = chosen.substr(0, chosen.find('\0'));
    return chosen.substr(folder_.size() + 1);
  }

  // Saves a checkpoint. From the first checkpoint on, other commands can use the run.
  void save(int64_t steps_done) {
    if (saved_ == steps_done) return;
    const int64_t begins = nanoseconds_now();
    run_.save(checkpoint(), steps_done, tests_.noted({{kOpenWindow, log_->open_window()}}));
    if (leads_ && saved_ < 0 && first_ == 0) point_latest_to(folder());
    saved_ = steps_done;
    trace_->add("save", begins);
  }

  void end_with(const std::string& why) {
    log_->ended(RunEnd::failure);
    if (page_) page_->failed(why);
  }

  // Every rank reports this in equal words: rank 0 may be lost.
  std::string how_to_go_on() const {
    const int64_t saved = saved_ >= 0 || from_.empty() ? saved_ : first_;
    if (saved < 0) return "; no checkpoint was saved yet, so start the run anew";
    return "; start all ranks again to continue from the last checkpoint:  " +
           resuming_command(folder());
  }

  int interrupted(int64_t steps_done, int signal) {
    save(steps_done);  // first: a second signal ends the process at once
    trace_->end();
    log_->tell_skipped(steps_done - 1);
    say_skipped();
    const std::string why =
        join(signal == SIGINT ? "interrupted" : "stopped by SIGTERM", " after iteration ",
             steps_done, "; continue with:  ", resuming_command(folder()));
    if (page_) page_->interrupted(why);
    log_->note(why);
    return 128 + signal;
  }

  // The order of a sum inside a convolution can depend on the number of threads, so a resumed run
  // keeps its number of threads on any machine. All processes take part, since only some may set
  // THREADS.
  int threads() const {
    const int configured = settings_.run.threads;
    if (from_.empty()) return configured;
    std::string threads = "0";
    if (leads_) {
      const Metadata metadata = checkpoint_metadata(from_);
      const int64_t saved = whole_number(metadata, "threads", 1, kMostThreads, from_);
      if (whole_number(metadata, "replicas", 1, kMostReplicasOfAll, from_) == replicas_of_all())
        threads = std::to_string(saved);
    }
    if (comm_) threads = share_text(*comm_, threads, "the number of threads");
    return configured == 0 ? std::atoi(threads.c_str()) : configured;
  }

  int64_t replicas_of_all() const { return settings_.replicas() * (comm_ ? comm_->size() : 1); }
  const std::string& folder() const { return folder_; }
  std::string checkpoint() const { return checkpoint_in(folder()); }

  HeldOutTest test(int64_t step) {
    const auto start = std::chrono::steady_clock::now();
    const int64_t begins = nanoseconds_now();
    HeldOutTest result = task_.test(step + 1);
    trace_->add("test", begins);
    log_->test(step, result, seconds_since(start));
    if (!leads_) return result;
    files_->tested(result, step + 1);
    page_->tested(result);
    return result;
  }

  Task& task_;
  const TrainSettings& settings_;
  Comm* comm_;
  bool leads_, debug_;
  std::unique_ptr<RunLock> lock_;
  std::string folder_;
  std::vector<TrainingModel> steps_;  // moved into run_
  std::string from_;                  // the checkpoint to resume, or ""
  TrainingRun run_;
  TestsSoFar tests_;
  std::optional<HeldOutTest> last_test_;  // of an iteration that ends the run early
  const AllReduceRange* unsummed_;        // of ALL_REDUCE; null: replicas stay equal
  int64_t first_ = 0;
  int64_t saved_ = -1;  // number of steps before the checkpoint
  std::unique_ptr<TrainingLog> log_;
  std::unique_ptr<TrainingTrace> trace_;
  std::unique_ptr<TrainedFiles> files_;  // files_ and page_: on rank 0 only
  std::unique_ptr<ReportPage> page_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

int train(Task& task, const TrainOptions& options, Comm* comm) {
  if (!comm || comm->rank() == 0)
    task.speak_by([&](const std::string& line) { Progress(options.quiet).note(line); });
  try {
    return RunLoop(task, options, comm).run();
  } catch (const Damaged& damage) {
    const fs::path checkpoint(damage.path());
    const std::string folder = checkpoint.parent_path().string();
    fail(damage.what(),
         checkpoint.string() == checkpoint_in(folder) ? offer_of_previous(folder) : "");
  }
}

}  // namespace lockstep
