// SPDX-License-Identifier: Apache-2.0
// The options of commands that write a trace.
#pragma once

#include <CLI/CLI.hpp>

#include "app/trace/request.h"

namespace lockstep {

// The options `--trace` and `--trace-steps`.
struct TraceFlags {
  CLI::Option *file, *steps;
};
inline TraceFlags add_trace(CLI::App& command, TraceRequest& request) {
  TraceFlags flags{};
  flags.file = command.add_option(
      "--trace", request.file,
      "FILE.json to write: the time of every operator, wait and message of some steps, for "
      "https://ui.perfetto.dev or chrome://tracing (docs/traces.md)");
  flags.steps = command.add_option("--trace-steps", request.steps,
                                   "the steps that are traced, as FIRST:LAST, counted from 1; "
                                   "default: five steps after the first two, or the last five of "
                                   "fewer");
  return flags;
}

}  // namespace lockstep
