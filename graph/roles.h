// What stands for what, on which replica, as metadata of a file: `lockstep.loss.x` = a value of
// each replica, a line each. Inputs say their role and part, states their kind, before the name.
#pragma once

#include <string>

#include "graph/io.h"

namespace lockstep {

void add_metadata(onnx::ModelProto& proto, const std::string& key, const std::string& value);
void write_roles(const TrainingModel& model, onnx::ModelProto& proto);
// As the file says; whether that holds is asked by check_roles().
void read_roles(const onnx::ModelProto& proto, LoadedModel& loaded);

}  // namespace lockstep
