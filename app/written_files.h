// SPDX-License-Identifier: Apache-2.0
// Files that a command is told to write, and files that it reads: no command replaces its own
// input.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep {

// Throws naming both if a file to be written is one of `kept`, under whatever name.
void check_kept(const std::vector<std::string>& written, const std::vector<std::string>& kept,
                const std::string& option);

// Of `-o FILE`, before any work is done: throws for an empty name, for one that leads to a device,
// pipe, socket or folder (graph/write_place.h), and for a file of `kept`, which FILE.data must not
// replace either. `kept` is asked only if there is something to replace.
void check_output(const std::string& file, const std::function<std::vector<std::string>()>& kept);

// An ONNX file and the files beside it that hold its data.
std::vector<std::string> files_of_model(const std::string& path);

}  // namespace lockstep
