// SPDX-License-Identifier: Apache-2.0
// The differences of lists of named texts: keys of configurations, metadata, lines of bucket plans.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/diff/change.h"

namespace lockstep {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// Appends the names that one side lacks and the values that differ, in the order of a, then of b.
// `of`: the sort of item, "key".
void add_named_changes(DiffPart part, const std::string& of, const NamedValues& a,
                       const NamedValues& b, Changes& changes);

// Appends the buckets that one side lacks, and a change of the order of the others. Buckets of
// states with other names are equal.
void add_bucket_changes(const std::string& a, const std::string& b, const StatePartners& partners,
                        Changes& changes);

}  // namespace lockstep
