// SPDX-License-Identifier: Apache-2.0
// The tests of a run so far, which may lower its learning rate (SOLVER.LR_POLICY plateau) and end
// it (TEST.PATIENCE, or a score that is enough).
#pragma once

#include <cstdint>
#include <string>

#include "app/train/patience.h"
#include "app/train/plateau.h"
#include "app/train/task.h"

namespace lockstep {

// All processes of a run make the same calls.
class TestsSoFar {
 public:
  // `task` must outlive this object. `comm` connects the processes of the run, or is null.
  TestsSoFar(Task& task, Comm* comm);

  // Continues with the tests in the metadata of the checkpoint `path` after `iterations`, once the
  // data is open. Repeats the test of these iterations if the checkpoint lacks the result: a run
  // tests its last iteration after its last checkpoint. Returns "", or the reason why the results
  // do not count. Throws for a damaged state, naming the file.
  std::string go_on_from(const Metadata& saved, const std::string& path, int64_t iterations);
  // `metadata` with the tests.
  Metadata noted(Metadata metadata) const;

  // Takes the result of a test after `iterations`. True if the run may end.
  bool tested(const HeldOutTest& result, int64_t iterations);
  // True if TEST.PATIENCE ends the run.
  bool is_over() const { return patience_.is_over(); }
  // The reason for an early end.
  std::string why() const;

 private:
  Task& task_;
  Patience patience_;
  Plateau plateau_;
};

}  // namespace lockstep
