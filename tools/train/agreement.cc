#include "tools/train/agreement.h"

namespace lockstep {

Entries to_be_agreed_on(const TrainConfig& config) {
  TrainConfig copy = config;
  Entries entries;
  for (const ConfigKey& key : keys_of(copy))
    if (!key.facts.own)
      entries.emplace_back(key.key, key.facts.alike ? key.facts.alike() : text_of(key));
  return entries;
}

}  // namespace lockstep
