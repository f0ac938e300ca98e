// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/agree.h"

#include <gtest/gtest.h>

#include "lockstep/processes.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

// As large as the data that a rank's replicas save.
TEST(Agree, TextsMayBeLongIfTheirReaderExpectsThem) {
  run_ranks(2, [](Comm& comm) {
    const std::string mine(kLongestText + 1, comm.rank() == 0 ? 'a' : 'b');
    const auto texts = gather_texts(comm, mine, "letters", mine.size());
    if (comm.rank() == 0) {
      ASSERT_EQ(texts.size(), 2u);
      EXPECT_TRUE(texts[0] == mine);
      EXPECT_TRUE(texts[1] == std::string(kLongestText + 1, 'b'));
    } else {
      EXPECT_TRUE(texts.empty());
    }
    const std::string first(kLongestText + 1, 'a');
    EXPECT_TRUE(share_text(comm, mine, "letters", 0, mine.size()) == first);
  });
}

}  // namespace
}  // namespace lockstep::testing
