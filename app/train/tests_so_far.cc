// SPDX-License-Identifier: Apache-2.0
#include "app/train/tests_so_far.h"

#include <utility>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kScoreOfTests = "score_name";  // of the tests in a checkpoint

}  // namespace

TestsSoFar::TestsSoFar(Task& task, Comm* comm)
    : task_(task), patience_(task.settings().patience, comm), plateau_(task.schedule(), comm) {}

std::string TestsSoFar::go_on_from(const Metadata& saved, const std::string& path,
                                   int64_t iterations) {
  plateau_.go_on_from(saved, path);
  const std::string now = task_.score_kind().name;
  const auto then = saved.find(kScoreOfTests);  // older checkpoints have none
  if (then != saved.end() && then->second != now) {
    plateau_.forget_results();
    return join("the tests before measured another score, ", printable(then->second), ", not ", now,
                ": their results no longer count");
  }
  patience_.go_on_from(saved, path);
  const bool is_tested = iterations % task_.settings().test_iters == 0;
  if (is_tested && (patience_.lacks(iterations) || plateau_.lacks(iterations)))
    tested(task_.test(iterations), iterations);
  return "";
}

Metadata TestsSoFar::noted(Metadata metadata) const {
  const std::size_t others = metadata.size();
  metadata = plateau_.noted(patience_.noted(std::move(metadata)));
  if (metadata.size() > others) metadata[kScoreOfTests] = task_.score_kind().name;
  return metadata;
}

bool TestsSoFar::tested(const HeldOutTest& result, int64_t iterations) {
  patience_.tested(result, iterations);
  plateau_.tested(result, iterations);
  return task_.is_enough(result) || is_over();
}

std::string TestsSoFar::why() const {
  return is_over() ? patience_.why(task_.score_kind().name)
                   : "ended early: the test's score is enough";
}

}  // namespace lockstep
