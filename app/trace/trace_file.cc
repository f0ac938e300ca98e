// SPDX-License-Identifier: Apache-2.0
#include "app/trace/trace_file.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "app/format.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kSchema = "lockstep.trace/1";

// One line of JSON, such as an event. Names of nodes come from files and may be any bytes.
std::string event_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

struct Arrow {
  int from_rank, to_rank;
  TracePlace from, to;
  int64_t sent, received;
  const char* name;
};

// Joins the two ends of each message. An end may be missing: a rank's trace may be full.
std::vector<Arrow> arrows_of_messages(const std::vector<RankTrace>& ranks) {
  using Name = std::tuple<int, int, uint64_t, uint64_t>;  // from, to, number, turn
  std::map<Name, const TraceMessage*> received;
  for (const RankTrace& rank : ranks)
    for (const TraceMessage& message : rank.messages)
      if (!message.sends)
        received[{message.peer, rank.rank, message.number, message.turn}] = &message;
  std::vector<Arrow> arrows;
  for (const RankTrace& rank : ranks)
    for (const TraceMessage& from : rank.messages) {
      if (!from.sends) continue;
      const auto found = received.find({rank.rank, from.peer, from.number, from.turn});
      if (found == received.end()) continue;
      const TraceMessage& to = *found->second;
      arrows.push_back({rank.rank, from.peer, from.place, to.place, from.at, to.at, "message"});
    }
  return arrows;
}

class TraceText {
 public:
  TraceText(const std::vector<RankTrace>& ranks, const TraceFileFacts& facts)
      : ranks_(ranks), facts_(facts), origin_(first_time()) {}

  std::string write() {
    text_ = std::string(kTraceBegins) + ",\n\"otherData\": " + event_text(other_data()) +
            ",\n\"traceEvents\": [\n";
    for (const RankTrace& rank : ranks_) name_tracks(rank);
    for (const RankTrace& rank : ranks_) {
      write_slices(rank);
      write_counters(rank);
    }
    for (const RankTrace& rank : ranks_)
      for (const TraceArrow& arrow : rank.arrows)
        write_arrow({rank.rank, rank.rank, arrow.from, arrow.to, INT64_MAX, INT64_MIN, "gradient"});
    for (const Arrow& arrow : arrows_of_messages(ranks_)) write_arrow(arrow);
    return std::move(text_) + "\n]}\n";
  }

 private:
  int64_t first_time() const {
    int64_t first = INT64_MAX;
    for (const RankTrace& rank : ranks_)
      for (const TraceRow& row : rank.rows)
        for (const TraceSlice& slice : row.slices) first = std::min(first, slice.begins);
    return first == INT64_MAX ? 0 : first;
  }

  // Viewers give process 0 and thread 0 to the idle task of the system, so numbers begin with 1.
  static int pid(int rank) { return rank + 1; }
  static int tid(int row) { return row + 1; }

  nlohmann::ordered_json other_data() const {
    nlohmann::ordered_json clocks = nlohmann::ordered_json::array(), means = clocks, missing;
    bool unrecorded = false;
    int64_t left_out = 0;
    for (const RankTrace& rank : ranks_) {
      clocks.push_back({{"rank", rank.rank},
                        {"host", rank.host},
                        {"process", rank.process},
                        {"offset_us", in_us(rank.clock_offset)},
                        {"error_us", in_us(rank.clock_error)},
                        {"drift_ppm", rank.drift_ppm},
                        {"drift_error_ppm", rank.drift_error_ppm},
                        {"device_error_us", in_us(rank.device_error)}});
      nlohmann::ordered_json numbers{{"rank", rank.rank}};
      for (const auto& [name, milliseconds] : rank.summary) numbers[name + "_ms"] = milliseconds;
      means.push_back(std::move(numbers));
      unrecorded = unrecorded || rank.is_unrecorded;
      left_out += rank.steps_left_out;
      if (!rank.missing.empty()) missing[std::to_string(rank.rank)] = rank.missing;
    }
    nlohmann::ordered_json data{
        {"schema", kSchema},
        {"command", facts_.command},
        {"iterations", {facts_.steps.first, facts_.steps.last}},
        {"clock",
         "all times are of the clock of the process that keeps the store; a rank's own clock is "
         "corrected by its offset and drift, up to its error"},
        {"clocks", std::move(clocks)},
        {"mean_of_a_step", std::move(means)}};
    if (unrecorded)
      data["unrecorded"] =
          "the accelerators launched each kernel; without a trace they replay a recording, which "
          "has shorter gaps";
    if (left_out > 0) data["runs_left_out"] = left_out;
    if (!missing.empty()) data["missing_ranks"] = std::move(missing);
    return data;
  }

  static double in_us(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

  // Microseconds with three digits, exactly.
  std::string time(int64_t nanoseconds) const { return duration(nanoseconds - origin_); }
  static std::string duration(int64_t nanoseconds) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%s%" PRId64 ".%03d", nanoseconds < 0 ? "-" : "",
                  std::abs(nanoseconds / 1000), static_cast<int>(std::abs(nanoseconds % 1000)));
    return digits;
  }

  void add(const std::string& event) {
    if (!is_first_) text_ += ",\n";
    is_first_ = false;
    text_ += event;
  }

  void name_tracks(const RankTrace& rank) {
    const auto name = [&](const char* what, int row, nlohmann::ordered_json args) {
      nlohmann::ordered_json event{{"ph", "M"}, {"name", what}, {"pid", pid(rank.rank)}};
      if (row >= 0) event["tid"] = tid(row);
      event["args"] = std::move(args);
      add(event_text(event));
    };
    name("process_name", -1,
         {{"name",
           join("rank ", rank.rank, " (host ", rank.host, ", process ", rank.process, ")")}});
    name("process_sort_index", -1, {{"sort_index", rank.rank}});
    for (std::size_t row = 0; row < rank.rows.size(); ++row) {
      name("thread_name", static_cast<int>(row), {{"name", rank.rows[row].name}});
      name("thread_sort_index", static_cast<int>(row), {{"sort_index", row}});
    }
  }

  // The parts of a label that all its slices share.
  static std::string text_of_label(const TraceLabel& label) {
    const TraceKindInfo& kind = info_of(label.kind);
    nlohmann::ordered_json event{{"name", label.name}, {"cat", kind.name}, {"cname", kind.colour}};
    if (!label.facts.empty()) {
      nlohmann::ordered_json facts;
      for (const auto& [name, value] : label.facts) facts[name] = value;
      event["args"] = std::move(facts);
    }
    const std::string text = event_text(event);
    return text.substr(1, text.size() - 2);
  }

  // A slice comes before the slices inside it.
  void write_slices(const RankTrace& rank) {
    std::vector<std::string> labels;
    for (const TraceLabel& label : rank.labels) labels.push_back(text_of_label(label));
    for (std::size_t row = 0; row < rank.rows.size(); ++row) {
      const std::vector<TraceSlice>& slices = rank.rows[row].slices;
      std::vector<std::size_t> order(slices.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(
          order, {}, [&](std::size_t i) { return std::pair(slices[i].begins, -slices[i].ends); });
      for (const std::size_t i : order) {
        const TraceSlice& slice = slices[i];
        add(join("{\"ph\":\"X\",", labels[slice.label], ",\"pid\":", pid(rank.rank),
                 ",\"tid\":", tid(static_cast<int>(row)), ",\"ts\":", time(slice.begins),
                 ",\"dur\":", duration(slice.ends - slice.begins), "}"));
      }
    }
  }

  void write_counters(const RankTrace& rank) {
    for (const TraceCounter& counter : rank.counters)
      for (const auto& [at, value] : counter.values) {
        const nlohmann::ordered_json start{
            {"ph", "C"}, {"name", counter.name}, {"pid", pid(rank.rank)}};
        const std::string text = event_text(start);
        add(join(text.substr(0, text.size() - 1), ",\"ts\":", time(at),
                 ",\"args\":", event_text({{counter.unit, value}}), "}"));
      }
  }

  // Both ends of an arrow must lie within their slices: viewers attach an end to the innermost
  // slice at its time. An arrow starts as late in its slice as it can, but not after it was sent.
  void write_arrow(const Arrow& arrow) {
    const TraceSlice& from = slice_at(arrow.from_rank, arrow.from);
    const TraceSlice& to = slice_at(arrow.to_rank, arrow.to);
    const auto within = [](const TraceSlice& slice, int64_t at) {
      return std::clamp(at, slice.begins, std::max(slice.begins, slice.ends - 1));
    };
    const auto end = [&](const char* phase, int rank, const TracePlace& place, int64_t at,
                         const char* more) {
      add(join("{\"ph\":\"", phase, "\",\"name\":\"", arrow.name, "\",\"cat\":\"", arrow.name,
               "\",\"id\":", next_id_, ",\"pid\":", pid(rank), ",\"tid\":", tid(place.row),
               ",\"ts\":", time(at), more, "}"));
    };
    end("s", arrow.from_rank, arrow.from, within(from, arrow.sent), "");
    end("f", arrow.to_rank, arrow.to, within(to, arrow.received), ",\"bp\":\"e\"");
    ++next_id_;
  }

  const TraceSlice& slice_at(int rank, const TracePlace& place) const {
    return ranks_.at(rank).rows[place.row].slices[place.slice];
  }

  const std::vector<RankTrace>& ranks_;
  const TraceFileFacts& facts_;
  const int64_t origin_;
  std::string text_;
  bool is_first_ = true;
  int64_t next_id_ = 1;
};

}  // namespace

std::string text_of_trace(const std::vector<RankTrace>& ranks, const TraceFileFacts& facts) {
  return TraceText(ranks, facts).write();
}

std::vector<std::string> write_trace(const std::string& file, const std::vector<RankTrace>& ranks,
                                     const TraceFileFacts& facts) {
  const std::string text = text_of_trace(ranks, facts);
  write_file(file, text);
  int64_t error = 0, left_out = 0;
  bool unrecorded = false;
  for (const RankTrace& rank : ranks) {
    error = std::max(error, rank.clock_error);
    left_out += rank.steps_left_out;
    unrecorded = unrecorded || rank.is_unrecorded;
  }
  std::vector<std::string> lines{
      join("trace of the iterations ", facts.steps.first, " to ", facts.steps.last,
           ranks.size() > 1 ? join(" of ", ranks.size(), " ranks, whose clocks agree to ",
                                   fixed(static_cast<double>(error) * 1e-6, 3), " ms")
                            : std::string(),
           ": ", printable(file), " (", fixed(static_cast<double>(text.size()) / (1 << 20), 1),
           " MiB); open it in https://ui.perfetto.dev or chrome://tracing")};
  if (unrecorded)
    lines.emplace_back(
        "the traced steps launched each kernel and were slower than other steps, which replay a "
        "recording");
  if (left_out > 0) lines.push_back(join("the trace is full: ", left_out, " runs were left out"));
  for (const RankTrace& rank : ranks)
    if (!rank.missing.empty())
      lines.push_back(join("the trace lacks rank ", rank.rank, ": ", printable(rank.missing)));
  return lines;
}

}  // namespace lockstep
