// SPDX-License-Identifier: Apache-2.0
// The task's part of `lockstep test`.
#pragma once

#include <string>
#include <vector>

#include "app/predict/output_folder.h"
#include "app/train/settings.h"
#include "app/weights/match.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "lockstep/training_model.h"

namespace lockstep {

inline constexpr const char* kScores = "scores.json";  // in the folder of results

// Loaded weights, and the folder for results.
struct Scoring {
  Session& session;
  std::string weights;               // for people
  std::vector<std::string> remarks;  // about the weights
  bool leads;                        // prints and writes; true in one process only
  OutputFolder& results;

  void print_remarks() const;
};

// Scores weights on held-out pictures or text, or on fresh episodes. All processes make the same
// calls, in this order, and divide the work. The first three functions may be called at any time.
class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual const TrainSettings& settings() const = 0;
  virtual std::string series() const = 0;  // the folder of the configuration's first run
  // The reason why a checkpoint is of another network than the configuration's; "" if it is not.
  virtual std::string other_network(const std::string& checkpoint) = 0;

  virtual void prepare(Comm* comm) = 0;
  // The weights that the configuration names; "": the weights of its newest run.
  virtual std::string named_weights() const { return ""; }
  // The folder of results if the command line names none; "": nothing is written.
  virtual std::string usual_folder() const { return ""; }
  // Throws if a result would overwrite an input of the test.
  virtual void check_keeps_inputs(const std::string& /*weights*/,
                                  const std::string& /*folder*/) const {}
  virtual std::vector<std::string> names_in(const std::string& /*folder*/) const {
    return {kScores};
  }
  // Options for the weights, all of which the file must have.
  virtual WeightsOptions trained_weights(const std::string& weights) const {
    return {.path = weights, .whole = true, .raw = !settings().step.options.average.predicts};
  }
  // This process's part of the step.
  virtual const TrainingModel& step(const std::string& weights) = 0;
  // Prints scores, and returns the text of scores.json; "" in a process that does not lead.
  virtual std::string score(const Scoring& with) = 0;
  // False if score() has missed numbers that the configuration expects: the command then ends with
  // exit code 1.
  virtual bool as_expected() const { return true; }
};

}  // namespace lockstep
