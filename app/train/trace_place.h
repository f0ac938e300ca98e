// SPDX-License-Identifier: Apache-2.0
// The file of a trace must be none of the files that the run reads.
#pragma once

#include <string>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/trace/request.h"

namespace lockstep {

// Throws, naming the file and its key, if the trace would replace a file of the configuration: one
// of `files`, a file that a key names, or a file in a folder that a key names. An earlier trace and
// an empty file in such a folder may be replaced.
void check_trace_place(const TraceRequest& request, const ConfigFiles& files,
                       const ConfigKeys& keys);

// Likewise for the folder of the checkpoint that the run goes on from; "": a new run.
void check_trace_place(const TraceRequest& request, const std::string& checkpoint);

}  // namespace lockstep
