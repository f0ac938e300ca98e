// SPDX-License-Identifier: Apache-2.0
// Results of the CPU's kernel on several numbers of threads. The bits may not change.
#pragma once

#include <gtest/gtest.h>

#include "lockstep/session_options.h"
#include "tests/support/case_run.h"
#include "tests/support/threads.h"

namespace lockstep::testing {

inline std::vector<Literal> results_on_threads(const OpCase& c, int threads) {
  const Built built = build(c);
  std::vector<std::string> fetches;
  for (Value output : built.outputs) fetches.push_back(built.graph.name(output));
  CompileOptions options = guarded();
  options.threads = usable_threads(threads);
  return CaseRunner(built.graph, c, built.feeds, fetches, options, Where::cpu).run(fed_values(c));
}

inline void expect_same_bits_on_any_threads(const OpCase& c) {
  const std::vector<Literal> one = results_on_threads(c, 1);
  for (int threads : {2, 4}) {
    const std::vector<Literal> some = results_on_threads(c, threads);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(one[i] == some[i])
          << c.type << ": output " << i << " on " << threads << " threads";
  }
}

}  // namespace lockstep::testing
