// SPDX-License-Identifier: Apache-2.0
// The parts of a detector by the names of its tensors.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep {

// The part of a published body that a tensor belongs to: "the stem", "stage 2", ..; "" for tensors
// of other parts. A file has all tensors of a part or none.
std::string body_part_of(const std::string& name);

// The last layers of a detector's heads, whose sizes follow from the objects to find.
struct LastLayer {
  const char* pattern;        // of the names of its tensors
  const char* counted;        // classes or keypoints
  std::size_t counting_dims;  // the first dimensions, each of which may be this number
};
// Null for other tensors.
const LastLayer* last_layer_of(const std::string& name);

// The names by which Detectron shares tensors: `_[mask]_fc1_w` takes fc1_w. "" for other names.
std::string shared_name_of(const std::string& name);

// The norms of a body that a network and a file may have in different kinds.
struct NormPair {
  std::string key;                     // that decides
  std::string batch_norm, group_norm;  // patterns of names
};
extern const NormPair kNormPairs[3];

}  // namespace lockstep
