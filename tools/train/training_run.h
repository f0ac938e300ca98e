// One training run: model, data, session, and the files it leaves in its folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "graph/training.h"
#include "runtime/state/checkpoint.h"
#include "runtime/state/session.h"
#include "tools/train/config.h"
#include "tools/train/held_out.h"
#include "tools/train/network.h"
#include "tools/train/search.h"

namespace lockstep {

// Of a checkpoint's metadata; throws naming file and key when it is missing or out of range.
int64_t whole_number(const Metadata& metadata, const std::string& key, int64_t least, int64_t most,
                     const std::string& path);
inline constexpr int64_t kMostSteps = int64_t{1} << 53;

struct StepResult {
  float loss = 0;  // this process's share of it
  float accuracy = 0;
  bool counts = true;         // in what is reported: false where the loss is none
  std::string skipped;        // why nothing was updated, or ""
  bool skipped_here = false;  // it began on this process
};

class TrainingRun {
 public:
  // `comm`: to the other processes of the run, or null. All of them call everything alike. Data is
  // read, or drawn, only when configuration, devices and weights are known to be right.
  TrainingRun(const TrainConfig& config, Comm* comm);

  // From the seed, or from a checkpoint of the same model and data; the number of steps done.
  int64_t start();
  int64_t resume(const std::string& checkpoint);

  // Runs step number `step`. When the loss is not finite, on whatever process, all say so, repeat
  // the run from where it last started or saved with every value checked, and throw naming the
  // first that was not finite. Of several processes all learn of it within a tenth of a second, and
  // before anything is saved or tested.
  StepResult step(int64_t step);
  using Say = std::function<void(const std::string& line)>;
  void speak_by(Say say) { say_ = std::move(say); }
  HeldOut& held_out() { return *held_out_; }
  // Throws, and leaves the file as it is, when the last step made numbers that are none.
  // `more`: what else is to be there when the run goes on.
  void save(const std::string& checkpoint, int64_t steps_done, const Metadata& more);
  // Of the checkpoint that the run went on from.
  const Metadata& resumed() const { return resumed_; }

  Session& session() { return *session_; }
  double data_seconds() const { return data_seconds_; }
  // What start() said of MODEL.WEIGHTS, or resume() of its checkpoint.
  const std::vector<std::string>& weights_report() const { return weights_report_; }

 private:
  void set_first_values();
  void open_data();
  void make_feeds();
  void feed(int64_t step);
  // Looks at every value if `not_finite` is there.
  StepResult run_step(int64_t step, NotFinite* not_finite = nullptr);
  bool ends_window(int64_t step) const;
  void check_losses(int64_t step);
  std::string intact() const;
  [[noreturn]] void explain(const BadLoss& bad);
  // The first step, from where the run last started or saved up to `last`, with such a value.
  struct Found {
    int64_t step = 0;
    Suspect culprit;
  };
  Found search(int64_t last);

  TrainConfig config_;
  Comm* comm_;
  int64_t replicas_;  // of all processes
  TrainingModel model_;
  Rows rows_;  // of each batch, this process's
  std::unique_ptr<Session> session_;
  std::unique_ptr<Dataset> train_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<HeldOut> held_out_;
  std::vector<float> images_;
  std::vector<int64_t> labels_;
  int64_t skipped_in_a_row_ = 0;
  std::unique_ptr<Feeds> feeds_;
  std::string last_checkpoint_;  // what explain() starts from; "": the seed
  int64_t last_start_ = 0;
  Metadata resumed_;
  double data_seconds_ = 0;
  std::vector<std::string> weights_report_;
  LossWatch losses_;
  Say say_ = [](const std::string&) {};
};

}  // namespace lockstep
