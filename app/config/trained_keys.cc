// SPDX-License-Identifier: Apache-2.0
#include "app/config/trained_keys.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// "true", "false", or patterns with commas between them.
std::vector<std::string> parse_batch_norms(const std::string& text) {
  std::string small = text;
  for (char& letter : small)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const char* none : {"", "false", "no", "off", "n"})
    if (small == none) return {};
  for (const char* all : {"true", "yes", "on", "y"})
    if (small == all) return {"*"};
  std::vector<std::string> patterns;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t first = part.find_first_not_of(' ');
    check(first != part.npos, "'", text, "' has an empty pattern");
    patterns.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
  }
  return patterns;
}

std::string text_of_batch_norms(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return "false";
  return patterns == std::vector<std::string>{"*"} ? "true" : listed(patterns);
}

}  // namespace

ConfigKeys keys_of(TrainedKeys& keys) {
  return {{"MODEL.TRAIN",
           &keys.train,
           "MODEL.ONNX: initializers that are trained although they would stay constant, also if "
           "MODEL.FREEZE names them; names with * and ?",
           {.flag = "--train", .remembered = true}},
          {"MODEL.TRAIN_BATCH_NORM",
           parsed(keys.batch_norms, parse_batch_norms, text_of_batch_norms),
           "MODEL.ONNX: batch norms that are trained even where the file says training_mode 0: "
           "true (all), false (none), or patterns with * and ?, separated by commas; a pattern "
           "matches the name of the node, of its scale or of its running mean",
           {.flag = "--train-batch-norm",
            .flag_alone = "true",
            .remembered = true,
            .words = {"true", "false"}}}};
}

}  // namespace lockstep
