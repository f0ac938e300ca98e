// What a run leaves for those who use its network: model.onnx at the end, best.onnx and
// best.safetensors at every best held-out result.
#pragma once

#include <string>

#include "runtime/state/session.h"
#include "tools/train/held_out.h"

namespace lockstep {

// Parameters and running statistics of replica 0, by their names without scope.
StateValues weights_of(const Session& session);

class TrainedFiles {
 public:
  // Goes on from iteration `first` with what is in the folder; a best result from later iterations
  // is of a run that was given up.
  TrainedFiles(std::string folder, const Session& session, int64_t first);

  // "", or why the best result of before is not known: the next test makes another.
  const std::string& remark() const { return remark_; }

  void tested(const TestResult& result, int64_t iterations);
  void finished(const TestResult& result, int64_t iterations) const;

 private:
  std::string folder_;
  const Session& session_;
  double best_ = -1;
  std::string remark_;
};

}  // namespace lockstep
