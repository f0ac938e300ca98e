// SPDX-License-Identifier: Apache-2.0
// MODEL.TYPE of language models, whose CONFIG.yaml has a table of keys of its own.
#pragma once

#include <string>
#include <vector>

#include "app/config/files.h"

namespace lockstep {

// Whether files and words (KEY VALUE ..) describe a language model. Throws for a type that is no
// other task's and nearly a language model's.
bool is_language_model(const ConfigFiles& files, const std::vector<std::string>& words);

// Throws if it is one, where only a classifier will do.
void refuse_language_model(const ConfigFiles& files, const std::vector<std::string>& words);

}  // namespace lockstep
