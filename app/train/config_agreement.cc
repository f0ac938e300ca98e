// SPDX-License-Identifier: Apache-2.0
#include "app/train/config_agreement.h"

namespace lockstep {

Entries to_be_agreed_on(const ConfigKeys& keys) {
  Entries entries;
  for (const ConfigKey& key : keys)
    if (!key.facts.own)
      entries.emplace_back(key.key, key.facts.alike ? key.facts.alike() : text_of(key));
  return entries;
}

}  // namespace lockstep
