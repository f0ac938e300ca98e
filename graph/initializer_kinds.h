// SPDX-License-Identifier: Apache-2.0
// The kinds of initializers as metadata of a network that Lockstep writes, so that a trained
// network keeps the exporter's kinds when it is trained again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/model_files.h"

namespace lockstep {

using InitializerKinds = std::map<std::string, InitializerKind>;

// Adds one entry for each kind: the names, one in a line. Leaves out names with control characters.
void write_kinds(const InitializerKinds& kinds, std::map<std::string, std::string>& metadata);

// Adds the kinds of `initializers`, except where there is a kind.
void read_kinds(const std::map<std::string, std::string>& metadata,
                const std::vector<std::string>& initializers, InitializerKinds& kinds);

}  // namespace lockstep
