// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lockstep/error.h"

namespace lockstep::testing {

// Runs `act` and expects an Error with every one of `parts` in its text.
template <class Act, class... Parts>
void expect_error(const Act& act, const Parts&... parts) {
  try {
    act();
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const std::string& part : {std::string(parts)...})
      EXPECT_NE(text.find(part), std::string::npos) << "missing '" << part << "' in: " << text;
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace lockstep::testing
