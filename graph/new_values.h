// SPDX-License-Identifier: Apache-2.0
// A network's file with new values of some initializers. All other parts of the file stay as they
// are: its opset, names, metadata, and fields that this version does not know.
#pragma once

#include <map>
#include <string>

#include "lockstep/model_files.h"

namespace lockstep {

// Throws, naming the file and the initializer, unless each name leads to one initializer of the
// file, which has the shape: an initializer of its graph, or else of a branch or a body.
void check_initializers(const std::string& path, const std::map<std::string, Dims>& shapes);

// Writes the file `from` as `to`. `values`: float32, by the initializers' names; each is rounded to
// the type that the initializer has in the file. Tensors with data beside `from` get their data in
// `<to>.data`. Existing files are replaced when the new files are complete.
void save_with_values(const std::string& from, const StateValues& values, const std::string& to);

}  // namespace lockstep
