// SPDX-License-Identifier: Apache-2.0
// Roles of values on each replica, stored as metadata of a file: `lockstep.loss.x` = a value of
// each replica, one per line. The key of an input has role and part before the name; the key of a
// state has the kind.
#pragma once

#include <string>

#include "lockstep/model_files.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

void add_metadata(onnx::ModelProto& proto, const std::string& key, const std::string& value);
void write_roles(const TrainingModel& model, onnx::ModelProto& proto);
// Reads the file's claims; check_roles() verifies them.
void read_roles(const onnx::ModelProto& proto, LoadedModel& loaded);

}  // namespace lockstep
