// SPDX-License-Identifier: Apache-2.0
// The files that a command reads for a model, which its own output must not replace.
#pragma once

#include <string>
#include <vector>

#include "app/model_source.h"

namespace lockstep {

// The files of the source: an ONNX file with its data, or a CONFIG.yaml with its bases; and every
// value of a key that may name a file, such as a bucket plan or a network. Some names may be no
// files. For check_output() in written_files.h. Throws for a configuration with mistakes.
std::vector<std::string> files_read(const ModelRequest& request);

}  // namespace lockstep
