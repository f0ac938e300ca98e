// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/file.h"
#include "lockstep/error.h"

namespace lockstep::testing {

std::string source_path(const std::string& name) { return join(LOCKSTEP_SOURCE_DIR, "/", name); }

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR "/tests/golden/") + name;
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) write_file(path, text);
  EXPECT_EQ(read_file(path), text) << "LOCKSTEP_UPDATE_GOLDEN=1 accepts the new text of " << name;
}

}  // namespace lockstep::testing
