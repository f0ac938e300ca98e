// The keys of a CONFIG.yaml: where each stands in a TrainConfig, what it may be, what it means. The
// reader, the reference page and what a run writes of itself all go by this one list.
#pragma once

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tools/train/config.h"

namespace lockstep {

using KeyTarget =
    std::variant<std::string*, int64_t*, float*, double*, bool*, std::vector<int64_t>*,
                 std::vector<double>*, std::vector<std::string>*>;

struct ConfigKey {
  std::string key;
  KeyTarget target;
  std::string meaning;
  double least = -std::numeric_limits<double>::infinity();
  std::string detectron = "";  // what Detectron calls it, where that differs
  double most = std::numeric_limits<double>::infinity();
};
std::vector<ConfigKey> keys_of(TrainConfig& config);

std::string text_of_most(const ConfigKey& key);
// "a whole number", ..
std::string kind_of(const ConfigKey& key);
// As a YAML file has it on one line: floats as people write them, texts quoted where they must be.
std::string yaml_of(const ConfigKey& key);

// The reference page.
std::string markdown_of_keys();
// For a terminal; those whose names contain `part`. Throws when none does.
std::string text_of_keys(const std::string& part);

}  // namespace lockstep
