// SPDX-License-Identifier: Apache-2.0
// Words that should be keys but are none.
#pragma once

#include <string>

#include "app/config/key.h"
#include "app/config/origin.h"
#include "graph/error.h"

namespace lockstep {

// The error's first key is none of the table that was read; maybe one of another table.
class UnknownKey : public Error {
 public:
  using Error::Error;
};

// Throws, beginning with `at`, with the key that may have been meant.
[[noreturn]] void refuse_key(const ConfigKeys& keys, const std::string& word,
                             const std::string& at);

// The same for a word of a command line, which may be a flag.
[[noreturn]] void refuse_word(const ConfigKeys& keys, const std::string& word);

// True for a key that is of no use any more, which becomes a note. Throws for a key's former name.
bool ignore_former(Origins* origins, const std::string& name, const std::string& at);

}  // namespace lockstep
