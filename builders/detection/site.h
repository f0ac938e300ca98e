// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/error.h"

namespace lockstep {

// The site of a node on the way to the value that `site` names.
inline Site part_of(const Site& site, const char* ending) {
  return Site(site.name + ending, site.where);
}

}  // namespace lockstep
