// SPDX-License-Identifier: Apache-2.0
// The trace of one process as values: rows of slices, arrows between slices, messages and counters.
// Rank 0 joins the traces of all processes (trace_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/dist/common_clock.h"

namespace lockstep {

// The kinds of slices. The first four are the phases of a training step.
enum class TraceKind { forward, backward, reduce, update, data, wait, step, other };

struct TraceKindInfo {
  TraceKind kind;
  std::string_view name;    // the category of an event
  std::string_view colour;  // of chrome://tracing; Perfetto chooses colours by name
};
const TraceKindInfo& info_of(TraceKind kind);
const std::vector<TraceKindInfo>& all_trace_kinds();

// The text of slices. Many slices share a label.
struct TraceLabel {
  std::string name;
  TraceKind kind = TraceKind::other;
  std::vector<std::pair<std::string, std::string>> facts = {};
};

// Times in nanoseconds. Slices of a row either nest or do not overlap.
struct TraceSlice {
  int label = 0;
  int64_t begins = 0, ends = 0;
};

struct TraceRow {
  std::string name;
  std::vector<TraceSlice> slices = {};
};

struct TracePlace {
  int row = -1, slice = -1;
  explicit operator bool() const { return slice >= 0; }
};

// From a result to its user.
struct TraceArrow {
  TracePlace from, to;
};

// One end of a message. Peer, number and turn (MessageSpan) name the other end.
struct TraceMessage {
  bool sends = false;
  int peer = 0;
  uint64_t number = 0, turn = 0;
  TracePlace place;
  int64_t at = 0;  // sent, or received
};

struct TraceCounter {
  std::string name, unit;
  std::vector<std::pair<int64_t, double>> values = {};
};

struct RankTrace {
  int rank = 0;
  std::string host;
  int process = 0;
  // Of this process's clock, compared with the store's.
  int64_t clock_offset = 0, clock_error = 0;
  double drift_ppm = 0, drift_error_ppm = 0;
  int64_t device_error = 0;    // of the accelerators' clocks, compared with the process's
  bool is_unrecorded = false;  // accelerators launched each kernel; usually they replay
  int64_t steps_left_out = 0;  // runs that were not recorded because the trace was full
  std::string missing;         // why the rank has no trace: no rows, then; "": it has one
  std::vector<TraceLabel> labels;
  std::vector<TraceRow> rows;  // in the order shown
  std::vector<TraceArrow> arrows;
  std::vector<TraceMessage> messages;
  std::vector<TraceCounter> counters;
  // Milliseconds of a step by kind, of the busiest worker; the first is the whole step.
  std::vector<std::pair<std::string, double>> summary;
};

// Moves all times to the common clock and notes the clock's facts.
void move_to(RankTrace& trace, const CommonClock& clock);

// As bytes for rank 0, and back. Throws for damaged bytes.
std::string packed(const RankTrace& trace);
RankTrace unpacked(const std::string& bytes);

}  // namespace lockstep
