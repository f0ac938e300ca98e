// SPDX-License-Identifier: Apache-2.0
// A detector's prediction graphs over the states of a session: one program for each padded size.
#pragma once

#include <vector>

#include "app/detection/find/picture_rounds.h"
#include "app/detection/find/recent_programs.h"
#include "app/detection/find/sized_program.h"
#include "lockstep/loader.h"

namespace lockstep {

class PicturePrograms {
 public:
  // The configuration's network may differ from the session's in its outputs, or take proposals
  // instead of making them (on_given_boxes()): only states that both have are used. Each process
  // predicts on its own pictures. Keeps up to `most` programs. `session` must outlive this object.
  PicturePrograms(DetectorConfig config, Session& session, std::size_t most);

  const DetectorConfig& config() const { return config_; }

  // Runs a round that `tensors` hold, and returns the results of each replica that has a view.
  // Overwrites the results of Session::step() and of earlier rounds.
  std::vector<PredictedTensors> run(const PictureRounds& rounds, int64_t round,
                                    std::span<const Tensor> tensors);

  std::size_t kept() const { return programs_.count(); }
  std::size_t made() const { return programs_.made(); }

 private:
  DetectorConfig config_;
  Session& session_;
  RecentPrograms<SizedProgram> programs_;
};

// Reads and runs all rounds. Calls see(round, results), with the results of each view of the round,
// which are valid during the call.
template <class See>
void in_rounds(const PictureRounds& rounds, PicturePrograms& programs, const See& see) {
  Loader loader(rounds, static_cast<int>(programs.config().loader.num_threads));
  for (int64_t round = 0; round < rounds.rounds(); ++round)
    see(round, programs.run(rounds, round, loader.get(round)));
}

// The detector without its RPN: it classifies and refines `proposals`, such as boxes that another
// graph over the same states has found.
DetectorConfig on_given_boxes(DetectorConfig config);

}  // namespace lockstep
