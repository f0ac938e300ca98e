// SPDX-License-Identifier: Apache-2.0
// Files that a command writes, and files that it reads: no command replaces its own input.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep {

// Throws naming both files if a file to be written is a file of `kept`, under any name.
void check_kept(const std::vector<std::string>& written, const std::vector<std::string>& kept,
                const std::string& option);

// Checks `-o FILE` before any work is done. Throws for an empty name, for a name that leads to a
// device, pipe, socket or folder (graph/write_place.h), and for a file of `kept`. FILE.data must
// not replace such a file either. `kept` is called only if there is something to replace.
void check_output(const std::string& file, const std::function<std::vector<std::string>()>& kept);

// An ONNX file and the files beside it with its data.
std::vector<std::string> files_of_model(const std::string& path);

}  // namespace lockstep
