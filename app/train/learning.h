// SPDX-License-Identifier: Apache-2.0
// The part of a task that trains: its configuration, its step and its data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/config/key.h"
#include "app/train/rounds.h"
#include "app/train/settings.h"
#include "app/train/weights.h"
#include "data/skipped_pictures.h"
#include "lockstep/checkpoint.h"
#include "lockstep/feeds.h"
#include "lockstep/loader.h"
#include "lockstep/session.h"
#include "lockstep/training_model.h"

namespace lockstep {

// An entry of a checkpoint that an earlier version computed from fewer facts.
struct FormerEntry {
  std::string key, value;  // the value that the earlier version would write now
  std::string lacks;       // the facts that the value does not cover: a plural
};

// All processes of a run make the same calls, in this order.
class Learning {
 public:
  virtual ~Learning() = default;

  // Receives lines about slow work before there is a log.
  using Say = std::function<void(const std::string& line)>;
  void speak_by(Say say) { say_ = std::move(say); }

  virtual const TrainSettings& settings() const = 0;
  virtual LrSchedule& schedule() = 0;  // of the settings; tests may lower its rates
  virtual ConfigKeys keys() = 0;       // of the task's configuration
  virtual std::vector<std::pair<std::string, std::string>> changed() = 0;  // from the defaults
  virtual std::string series() const = 0;      // folder of the first run
  virtual int64_t images_of_step() const = 0;  // rows of a minibatch, of all processes
  // False if the first dimensions of a minibatch's tensors are not its rows.
  virtual bool divides_rows() const { return true; }

  // A task infers some values, from a file for example, unless the user sets them. This call takes
  // the values that rank 0 has inferred: other processes may lack the file.
  virtual void share_inferred(Comm& /*comm*/) {}
  // The entries of a checkpoint that replace inferred values when the run is resumed.
  virtual Metadata inferred_in(const Metadata& /*saved*/) const { return {}; }
  // Takes these entries, after prepare() and before open().
  virtual void take_inferred(const Metadata& /*saved*/) {}

  // Reads the facts that the network depends on. Throws if there is no memory for the data.
  virtual void prepare() = 0;
  // Facts besides keys that must be equal in all processes, such as the contents of files.
  virtual std::vector<std::pair<std::string, std::string>> also_alike() const { return {}; }
  // Entries of also_alike() that must be unchanged when a run is resumed.
  virtual std::vector<std::pair<std::string, std::string>> also_remembered() const { return {}; }
  // Entries of also_remembered() as earlier versions of the program wrote them.
  virtual std::vector<FormerEntry> remembered_before() const { return {}; }
  // Steps for the replicas of all processes: one for each form of the minibatches.
  virtual std::vector<TrainingModel> steps(int processes) const = 0;
  // Throws if the configuration does not allow a start without a checkpoint.
  virtual void check_start() const {}
  virtual std::optional<WeightsOptions> first_weights() const = 0;

  // Opens the data, which outlives the calls below. This process has `rows` of each minibatch.
  virtual void open(Session& session, const Rows& rows) = 0;
  // Throws naming pictures that cannot be read, as far as their headers show.
  virtual void check_pictures() const {}
  virtual std::map<std::string, std::string> metadata() const = 0;  // of the trained network
  // The task's rounds; null: the task trains on minibatches.
  virtual Rounds* rounds() { return nullptr; }
  virtual const MinibatchSource& minibatches() const = 0;
  virtual int reading_threads() const = 0;
  virtual std::string threads_key() const = 0;  // of the configuration; "" if there is none
  // The bad pictures of this process's minibatches; null: a bad picture ends the run.
  virtual SkippedPictures* skipped() const { return nullptr; }

 protected:
  const Say& say() const { return say_; }

 private:
  Say say_ = [](const std::string&) {};
};

}  // namespace lockstep
