// SPDX-License-Identifier: Apache-2.0
// A run's results for users of its network: model.onnx at the end, best.onnx and best.safetensors
// at every best held-out result.
#pragma once

#include <string>

#include "app/train/testing.h"
#include "lockstep/checkpoint.h"
#include "lockstep/session.h"

namespace lockstep {

// Parameters and running statistics of replica 0, by their names without scope.
StateValues weights_of(const Session& session);

class TrainedFiles {
 public:
  // Continues from iteration `first` with the folder's content. Ignores a best result of later
  // iterations, which an abandoned run wrote.
  // `remembered`: the metadata that a checkpoint has about the network; best.safetensors gets it,
  // too.
  TrainedFiles(std::string folder, ScoreKind score, const Session& session, int64_t first,
               Metadata remembered);

  // "", or the reason why the previous best result is unknown. The next test then sets a new best
  // result.
  const std::string& remark() const { return remark_; }

  void tested(const HeldOutTest& result, int64_t iterations);
  void finished(const HeldOutTest& result, int64_t iterations) const;

 private:
  std::string said_of(const HeldOutTest& result, int64_t iterations) const;

  std::string folder_;
  ScoreKind score_;
  const Session& session_;
  Metadata remembered_;
  double best_ = -1;
  std::string remark_;
};

}  // namespace lockstep
