// SPDX-License-Identifier: Apache-2.0
#include "app/text/types.h"

#include <algorithm>

#include "app/detection/types.h"
#include "graph/error.h"
#include "graph/nearest.h"
#include "models/models.h"

namespace lockstep {
namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_language_model(const ConfigFiles& files, const std::vector<std::string>& words) {
  const auto said = said_of("MODEL.TYPE", files, words);
  if (!said) return false;
  const std::vector<std::string> ours = language_model_names();
  if (is_among(ours, said->text)) return true;
  std::vector<std::string> names = model_names();
  if (is_among(names, said->text) || detector_type(said->text)) return false;
  names.insert(names.end(), ours.begin(), ours.end());
  const std::string near = nearest(said->text, names);
  check(!is_among(ours, near), said->at, ": MODEL.TYPE '", said->text,
        "' is not known; did you mean ", near, "?");
  return false;
}

void refuse_language_model(const ConfigFiles& files, const std::vector<std::string>& words) {
  if (!is_language_model(files, words)) return;
  const auto said = said_of("MODEL.TYPE", files, words);
  throw Unsupported(join(said->at, ": MODEL.TYPE ", said->text,
                         " is a language model, which has keys of its own: lockstep keys --task "
                         "text"));
}

}  // namespace lockstep
