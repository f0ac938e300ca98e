// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lockstep/error.h"

namespace lockstep {

// The site of an intermediate node of the value named `site`: the same origin, and the name with
// `ending` appended.
inline Site part_of(const Site& site, const char* ending) {
  return Site(site.name + ending, site.where);
}

}  // namespace lockstep
