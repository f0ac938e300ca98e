// SPDX-License-Identifier: Apache-2.0
// The file of a trace, in the format that Perfetto and chrome://tracing open (docs/traces.md).
#pragma once

#include <string>
#include <vector>

#include "app/trace/rank_trace.h"
#include "app/trace/request.h"

namespace lockstep {

// The first bytes of every trace.
inline constexpr const char* kTraceBegins = "{\"displayTimeUnit\": \"ms\"";

struct TraceFileFacts {
  std::string command;
  TracedSteps steps;
};

// Returns the text of the file. The first event is at time 0.
std::string text_of_trace(const std::vector<RankTrace>& ranks, const TraceFileFacts& facts);

// Writes the file. Returns lines for the user.
std::vector<std::string> write_trace(const std::string& file, const std::vector<RankTrace>& ranks,
                                     const TraceFileFacts& facts);

}  // namespace lockstep
