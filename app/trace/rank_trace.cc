// SPDX-License-Identifier: Apache-2.0
#include "app/trace/rank_trace.h"

#include <nlohmann/json.hpp>

#include "lockstep/error.h"

namespace lockstep {
namespace {

using nlohmann::json;

// Each record is an array, since names of members would double the bytes.
json packed_place(const TracePlace& place) { return json::array({place.row, place.slice}); }

// Throws unless the place is in the rows: it comes from another process.
TracePlace unpacked_place(const json& value, const std::vector<TraceRow>& rows) {
  const TracePlace place{value.at(0).get<int>(), value.at(1).get<int>()};
  check(place.row >= 0 && place.row < static_cast<int>(rows.size()) && place.slice >= 0 &&
            place.slice < static_cast<int>(rows[place.row].slices.size()),
        "a slice that does not exist");
  return place;
}

json packed_rows(const std::vector<TraceRow>& rows) {
  json all = json::array();
  for (const TraceRow& row : rows) {
    json slices = json::array();
    int64_t before = 0;
    for (const TraceSlice& slice : row.slices) {  // differences are short
      slices.push_back(slice.label);
      slices.push_back(slice.begins - before);
      slices.push_back(slice.ends - slice.begins);
      before = slice.begins;
    }
    all.push_back(json::array({row.name, std::move(slices)}));
  }
  return all;
}

std::vector<TraceRow> unpacked_rows(const json& all, std::size_t labels) {
  std::vector<TraceRow> rows;
  for (const json& packed : all) {
    TraceRow& row = rows.emplace_back(TraceRow{packed.at(0).get<std::string>()});
    const json& slices = packed.at(1);
    int64_t before = 0;
    for (std::size_t i = 0; i + 2 < slices.size(); i += 3) {
      TraceSlice slice{slices[i].get<int>(), before + slices[i + 1].get<int64_t>()};
      slice.ends = slice.begins + slices[i + 2].get<int64_t>();
      before = slice.begins;
      check(slice.label >= 0 && static_cast<std::size_t>(slice.label) < labels,
            "a label that does not exist");
      row.slices.push_back(slice);
    }
  }
  return rows;
}

json packed_labels(const std::vector<TraceLabel>& labels) {
  json all = json::array();
  for (const TraceLabel& label : labels)
    all.push_back(json::array({label.name, static_cast<int>(label.kind), label.facts}));
  return all;
}

std::vector<TraceLabel> unpacked_labels(const json& all) {
  std::vector<TraceLabel> labels;
  for (const json& packed : all) {
    const int kind = packed.at(1).get<int>();
    check(kind >= 0 && kind < static_cast<int>(all_trace_kinds().size()),
          "a kind of slice that does not exist");
    labels.push_back({packed.at(0).get<std::string>(), static_cast<TraceKind>(kind),
                      packed.at(2).get<std::vector<std::pair<std::string, std::string>>>()});
  }
  return labels;
}

}  // namespace

const std::vector<TraceKindInfo>& all_trace_kinds() {
  static const std::vector<TraceKindInfo> kinds{
      {TraceKind::forward, "forward", "thread_state_running"},
      {TraceKind::backward, "backward", "rail_response"},
      {TraceKind::reduce, "reduce", "rail_animation"},
      {TraceKind::update, "update", "rail_load"},
      {TraceKind::data, "data", "yellow"},
      {TraceKind::wait, "wait", "grey"},
      {TraceKind::step, "step", "generic_work"},
      {TraceKind::other, "other", "white"}};
  return kinds;
}

const TraceKindInfo& info_of(TraceKind kind) {
  return all_trace_kinds().at(static_cast<std::size_t>(kind));
}

void move_to(RankTrace& trace, const CommonClock& clock) {
  for (TraceRow& row : trace.rows)
    for (TraceSlice& slice : row.slices) {
      slice.begins = clock.common(slice.begins);
      slice.ends = clock.common(slice.ends);
    }
  for (TraceMessage& message : trace.messages) message.at = clock.common(message.at);
  for (TraceCounter& counter : trace.counters)
    for (auto& [at, value] : counter.values) at = clock.common(at);
  trace.clock_offset = clock.offset();
  trace.clock_error = clock.error();
  trace.drift_ppm = clock.drift_ppm();
  trace.drift_error_ppm = clock.drift_error_ppm();
}

std::string packed(const RankTrace& trace) {
  json arrows = json::array(), messages = json::array(), counters = json::array();
  for (const TraceArrow& arrow : trace.arrows)
    arrows.push_back(json::array({packed_place(arrow.from), packed_place(arrow.to)}));
  for (const TraceMessage& message : trace.messages)
    messages.push_back(json::array({message.sends, message.peer, message.number, message.turn,
                                    packed_place(message.place), message.at}));
  for (const TraceCounter& counter : trace.counters)
    counters.push_back(json::array({counter.name, counter.unit, counter.values}));
  const std::vector<uint8_t> bytes = json::to_cbor(
      {{"rank", trace.rank},
       {"host", trace.host},
       {"process", trace.process},
       {"clock", {trace.clock_offset, trace.clock_error, trace.drift_ppm, trace.drift_error_ppm}},
       {"device_error", trace.device_error},
       {"is_unrecorded", trace.is_unrecorded},
       {"steps_left_out", trace.steps_left_out},
       {"missing", trace.missing},
       {"labels", packed_labels(trace.labels)},
       {"rows", packed_rows(trace.rows)},
       {"arrows", std::move(arrows)},
       {"messages", std::move(messages)},
       {"counters", std::move(counters)},
       {"summary", trace.summary}});
  return {bytes.begin(), bytes.end()};
}

RankTrace unpacked(const std::string& bytes) try {
  const json all = json::from_cbor(bytes);
  RankTrace trace;
  trace.rank = all.at("rank").get<int>();
  trace.host = all.at("host").get<std::string>();
  trace.process = all.at("process").get<int>();
  trace.clock_offset = all.at("clock").at(0).get<int64_t>();
  trace.clock_error = all.at("clock").at(1).get<int64_t>();
  trace.drift_ppm = all.at("clock").at(2).get<double>();
  trace.drift_error_ppm = all.at("clock").at(3).get<double>();
  trace.device_error = all.at("device_error").get<int64_t>();
  trace.is_unrecorded = all.at("is_unrecorded").get<bool>();
  trace.steps_left_out = all.at("steps_left_out").get<int64_t>();
  trace.missing = all.at("missing").get<std::string>();
  trace.labels = unpacked_labels(all.at("labels"));
  trace.rows = unpacked_rows(all.at("rows"), trace.labels.size());
  for (const json& arrow : all.at("arrows"))
    trace.arrows.push_back(
        {unpacked_place(arrow.at(0), trace.rows), unpacked_place(arrow.at(1), trace.rows)});
  for (const json& message : all.at("messages"))
    trace.messages.push_back({message.at(0).get<bool>(), message.at(1).get<int>(),
                              message.at(2).get<uint64_t>(), message.at(3).get<uint64_t>(),
                              unpacked_place(message.at(4), trace.rows),
                              message.at(5).get<int64_t>()});
  for (const json& counter : all.at("counters"))
    trace.counters.push_back({counter.at(0).get<std::string>(), counter.at(1).get<std::string>(),
                              counter.at(2).get<std::vector<std::pair<int64_t, double>>>()});
  trace.summary = all.at("summary").get<std::vector<std::pair<std::string, double>>>();
  return trace;
} catch (const nlohmann::json::exception& error) {
  fail("the trace that another rank sent is damaged: ", error.what());
}

}  // namespace lockstep
