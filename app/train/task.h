// SPDX-License-Identifier: Apache-2.0
// What a run trains: the part of a training run that classification and detection do not share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/record/test_result.h"
#include "app/report/report.h"
#include "app/train/rounds.h"
#include "app/train/settings.h"
#include "app/train/weights.h"
#include "data/minibatch.h"
#include "data/skipped_pictures.h"
#include "graph/training.h"
#include "runtime/feeds.h"
#include "runtime/state/session.h"

namespace lockstep {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

// What the speed of a run is counted in.
struct WorkUnit {
  std::string name;     // plural: NAME_per_second in metrics.jsonl
  int64_t of_step = 0;  // of all processes
};

// The number that tells how good a network is, from 0 to 1: the largest is the best.
struct ScoreKind {
  std::string number;    // of HeldOutTest::numbers
  std::string name;      // for people
  std::string metadata;  // its key beside weights
};

// A test of the network in training.
struct HeldOutTest {
  NamedNumbers numbers;  // test_accuracy, test/accuracy: without what is before it
  double score = 0;
  std::string trouble;                // "the held-out loss is nan": such weights are worth nothing
  std::string headline;               // "held-out accuracy 98.12 %"
  std::string detail;                 // "loss 0.0512"
  std::string section;                // of report.html
  std::vector<std::string> left_out;  // why some pictures cannot be read
  std::vector<SamplePicture> pictures;
  std::string pictures_are;  // a description
};

// An entry of a checkpoint that an earlier version wrote from fewer facts.
struct FormerEntry {
  std::string key, value;  // what that version would write now
  std::string lacks;       // what the value does not tell: a plural
};

// All processes of a run make the same calls, in this order.
class Task {
 public:
  virtual ~Task() = default;

  // Lines about what takes long, before there is a log.
  using Say = std::function<void(const std::string& line)>;
  void speak_by(Say say) { say_ = std::move(say); }

  virtual const TrainSettings& settings() const = 0;
  virtual ConfigKeys keys() = 0;  // they refer to its configuration
  virtual std::vector<std::pair<std::string, std::string>> changed() = 0;  // from the defaults
  virtual std::string series() const = 0;   // folder of the first run
  virtual std::string network() const = 0;  // names for people
  virtual std::string data() const = 0;
  virtual int64_t images_of_step() const = 0;  // rows of a minibatch, of all processes
  virtual WorkUnit work_unit() const { return {"images", images_of_step()}; }

  // Learns what the network depends on, and whether there is memory for the data.
  virtual void prepare() = 0;
  // What processes must have alike beside their keys, such as the contents of files.
  virtual std::vector<std::pair<std::string, std::string>> also_alike() const { return {}; }
  // Those of them that a run must find unchanged when it goes on.
  virtual std::vector<std::pair<std::string, std::string>> also_remembered() const { return {}; }
  // Entries of also_remembered() as earlier versions of the program wrote them.
  virtual std::vector<FormerEntry> remembered_before() const { return {}; }
  // The step of all replicas of so many processes: one for each form of the minibatches.
  virtual std::vector<TrainingModel> steps(int processes) const = 0;
  virtual std::optional<WeightsOptions> first_weights() const = 0;

  // Opens the data, which outlives the calls below. This process has `rows` of each minibatch.
  virtual void open(Session& session, const Rows& rows) = 0;
  // Throws naming pictures that cannot be read, as far as a look at each tells.
  virtual void check_pictures() const {}
  virtual std::map<std::string, std::string> metadata() const = 0;  // of the trained network
  // Where its steps are rounds: those, and there are no minibatches.
  virtual Rounds* rounds() { return nullptr; }
  virtual const MinibatchSource& minibatches() const = 0;
  virtual int reading_threads() const = 0;
  virtual std::string threads_key() const = 0;         // of the configuration; "": there is none
  virtual std::vector<std::string> notes() const = 0;  // about the data, for people
  // The bad pictures of its minibatches; null: a bad picture ends the run.
  virtual SkippedPictures* skipped() const { return nullptr; }
  virtual NamedTexts examples() const = 0;  // "to train on", "24 pictures of 3 classes"; ..
  virtual Dims picture() const = 0;  // channels, height, width of one; of another unit its own

  // What follows from a window's mean loss, to be recorded beside it.
  virtual NamedNumbers numbers_of(double) const { return {}; }
  // On a step's window: its loss and numbers, for the terminal.
  virtual std::string text_of(double loss, const NamedNumbers& numbers) const = 0;
  virtual ScoreKind score_kind() const = 0;
  virtual std::string text_of_score(double score) const = 0;
  virtual std::vector<CurveChart> charts() const = 0;
  // With the current parameters; complete on rank 0 alone.
  virtual HeldOutTest test(int64_t iterations) = 0;
  // Whether the run may end after that test. Alike in all processes.
  virtual bool is_enough(const HeldOutTest&) const { return false; }

 protected:
  const Say& say() const { return say_; }

 private:
  Say say_ = [](const std::string&) {};
};

}  // namespace lockstep
