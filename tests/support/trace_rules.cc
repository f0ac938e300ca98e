// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lockstep/error.h"

namespace lockstep::testing {
namespace {

using nlohmann::json;

int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

class Reader {
 public:
  explicit Reader(const std::string& text) : file_(json::parse(text)) {}

  SeenTrace read() {
    seen_.about = file_.at("otherData");
    for (const json& event : file_.at("traceEvents")) take(event);
    for (auto& [place, row] : seen_.rows) nest(row);
    check_names();
    for (const auto& [id, ends] : flows_) bind(id, ends);
    return std::move(seen_);
  }

 private:
  struct Flow {
    std::vector<json> starts, ends;
  };

  static std::pair<int, int> row_of(const json& event) {
    return {event.at("pid").get<int>(), event.at("tid").get<int>()};
  }

  void take(const json& event) {
    const std::string phase = event.at("ph");
    const int pid = event.at("pid");
    EXPECT_GT(pid, 0) << "0 is the idle task of viewers";
    if (phase == "M") return take_name(event);
    EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    if (phase == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0) << event;
      EXPECT_GT(event.at("tid").get<int>(), 0);
      const int64_t begins = nanoseconds(event.at("ts"));
      seen_.rows[row_of(event)].slices.push_back({event.at("name"), event.at("cat"), begins,
                                                  begins + nanoseconds(event.at("dur")),
                                                  event.value("args", json::object())});
    } else if (phase == "C") {
      ASSERT_EQ(event.at("args").size(), 1U);
      seen_.counters[{pid, event.at("name")}].push_back(event.at("args").front().get<double>());
    } else if (phase == "s") {
      flows_[event.at("id")].starts.push_back(event);
    } else if (phase == "f") {
      EXPECT_EQ(event.at("bp"), "e") << "else the arrow ends at the next slice";
      flows_[event.at("id")].ends.push_back(event);
    } else {
      ADD_FAILURE() << "an event of an unknown kind: " << event;
    }
  }

  void take_name(const json& event) {
    const std::string what = event.at("name");
    const json& args = event.at("args");
    if (what == "process_name") {
      seen_.processes[event.at("pid")] = args.at("name");
    } else if (what == "process_sort_index") {
      process_order_[event.at("pid")] = args.at("sort_index");
    } else if (what == "thread_name") {
      seen_.rows[row_of(event)].name = args.at("name");
    } else {
      ASSERT_EQ(what, "thread_sort_index");
      order_[row_of(event)] = args.at("sort_index");
    }
  }

  // The order of the file is the order of time.
  static void nest(SeenRow& row) {
    std::vector<std::size_t> open;
    int64_t latest = 0;
    for (std::size_t i = 0; i < row.slices.size(); ++i) {
      SeenSlice& slice = row.slices[i];
      EXPECT_GE(slice.begins, latest) << row.name << ": " << slice.name;
      latest = slice.begins;
      // A slice without a length may lie at the end of another one.
      while (!open.empty() && row.slices[open.back()].ends <= slice.begins &&
             row.slices[open.back()].ends < slice.ends)
        open.pop_back();
      if (!open.empty()) {
        SeenSlice& outer = row.slices[open.back()];
        EXPECT_LE(slice.ends, outer.ends)
            << row.name << ": '" << slice.name << "' does not end within '" << outer.name << "'";
        outer.inside.push_back(i);
      }
      slice.depth = static_cast<int>(open.size());
      open.push_back(i);
    }
  }

  void check_names() const {
    std::map<int, int> last;
    std::map<int, std::set<std::string>> names;
    for (const auto& [place, row] : seen_.rows) {
      EXPECT_TRUE(seen_.processes.contains(place.first)) << "a process without a name";
      EXPECT_FALSE(row.name.empty()) << "a row without a name";
      EXPECT_TRUE(names[place.first].insert(row.name).second) << row.name << " twice";
      ASSERT_TRUE(order_.contains(place)) << row.name << " has no place in the order";
      const auto before = last.find(place.first);
      if (before != last.end()) {
        EXPECT_GT(order_.at(place), before->second) << row.name;
      }
      last[place.first] = order_.at(place);
    }
    std::set<int> ranks;
    for (const auto& [pid, name] : seen_.processes) {
      ASSERT_TRUE(process_order_.contains(pid)) << name;
      EXPECT_TRUE(ranks.insert(process_order_.at(pid)).second) << name;
    }
  }

  // The innermost slice at the time of an event.
  std::size_t slice_at(const json& event) const {
    const SeenRow& row = seen_.rows.at(row_of(event));
    const int64_t at = nanoseconds(event.at("ts"));
    std::size_t found = row.slices.size();
    for (std::size_t i = 0; i < row.slices.size() && row.slices[i].begins <= at; ++i) {
      const SeenSlice& slice = row.slices[i];
      if (at < slice.ends || (slice.begins == at && slice.ends == at)) found = i;
    }
    EXPECT_LT(found, row.slices.size()) << "an arrow's end in no slice: " << event;
    return found;
  }

  void bind(int64_t id, const Flow& flow) {
    ASSERT_EQ(flow.starts.size(), 1U) << "arrow " << id;
    ASSERT_EQ(flow.ends.size(), 1U) << "arrow " << id;
    const json &from = flow.starts[0], &to = flow.ends[0];
    EXPECT_EQ(from.at("name"), to.at("name"));
    EXPECT_EQ(from.at("cat"), to.at("cat"));
    SeenArrow arrow{from.at("name"),         row_of(from), row_of(to),
                    slice_at(from),          slice_at(to), nanoseconds(from.at("ts")),
                    nanoseconds(to.at("ts"))};
    std::vector<SeenSlice>& of_from = seen_.rows.at(arrow.from_row).slices;
    std::vector<SeenSlice>& of_to = seen_.rows.at(arrow.to_row).slices;
    if (arrow.from >= of_from.size() || arrow.to >= of_to.size()) return;
    of_from[arrow.from].has_arrow_out = true;
    of_to[arrow.to].has_arrow_in = true;
    seen_.arrows.push_back(std::move(arrow));
  }

  const json file_;
  SeenTrace seen_;
  std::map<std::pair<int, int>, int> order_;
  std::map<int, int> process_order_;
  std::map<int64_t, Flow> flows_;
};

}  // namespace

const SeenRow& SeenTrace::row(int process, const std::string& name) const {
  for (const auto& [place, row] : rows)
    if (place.first == process && row.name == name) return row;
  fail("process ", process, " has no row '", name, "'");
}

SeenTrace expect_rules(const std::string& text) { return Reader(text).read(); }

// The slices of phases only group others.
int64_t sum_within(const SeenRow& row, const SeenSlice& step) {
  int64_t sum = 0;
  for (const std::size_t inside : step.inside) {
    const SeenSlice& slice = row.slices[inside];
    if (slice.name == slice.category && slice.name != "wait")
      for (const std::size_t deeper : slice.inside)
        sum += row.slices[deeper].ends - row.slices[deeper].begins;
    else
      sum += slice.ends - slice.begins;
  }
  return sum;
}

}  // namespace lockstep::testing
