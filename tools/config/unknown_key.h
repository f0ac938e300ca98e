// Words that should be keys but are none.
#pragma once

#include <string>

#include "tools/config/key.h"
#include "tools/config/origin.h"

namespace lockstep {

// Throws, beginning with `at`, with the key that may have been meant.
[[noreturn]] void refuse_key(const ConfigKeys& keys, const std::string& word,
                             const std::string& at);

// True for a key that is of no use any more, which becomes a note. Throws for a key's former name.
bool ignore_former(Origins* origins, const std::string& name, const std::string& at);

}  // namespace lockstep
