// SPDX-License-Identifier: Apache-2.0
#include "graph/metadata.h"

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {

void check_metadata(const std::string& key, const std::string& value) {
  refuse_control(key, "metadata");
  refuse_control(value, join("metadata '", key, "'"), "\n\r\t");
}

}  // namespace lockstep
