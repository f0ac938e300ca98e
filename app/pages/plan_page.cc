// SPDX-License-Identifier: Apache-2.0
#include "app/pages/plan_page.h"

#include <cmath>
#include <sstream>
#include <unordered_map>

#include "app/format.h"
#include "app/inspect/json_lines.h"
#include "app/pages/page.h"
#include "graph/limits.h"
#include "graph/printable.h"
#include "lockstep/operators.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

constexpr const char* kPlanPageSchema = "lockstep.plan_page/1";
constexpr std::size_t kLargestShown = 10;

// Texts by number: most names stand for a step and for its result.
class TextTable {
 public:
  int operator()(const std::string& text) {
    const auto [found, is_new] = numbers_.emplace(text, static_cast<int>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, int> numbers_;
  std::vector<std::string> texts_;
};

int64_t in_ns(double seconds) { return std::llround(seconds * 1e9); }

int is_collective(const PlanStep& step) {
  const Op* op = all_ops().find(kOwnDomain, step.type);
  return op && op->collective ? 1 : 0;
}

// The columns of a table, one JSON array for each.
template <class Rows, class Of>
Json json_column(const Rows& rows, const Of& of) {
  Json values = Json::array();
  for (const auto& row : rows) values.push_back(of(row));
  return values;
}

std::string text_of_place(const Plan& plan, const Slot& slot) {
  if (slot.storage == Storage::as_constant) return "constant";
  if (slot.storage == Storage::in_arena) return "arena";
  const auto state = static_cast<std::size_t>(slot.index);
  return state < plan.session_states() ? "state " + plan.states[state] : "kept for the next run";
}

class PlanPageData {
 public:
  PlanPageData(const Plan& plan, const PlanPage& page) : plan_(plan), page_(page) {}

  std::string json() {
    std::ostringstream text;
    JsonLines out(text);
    out.field("schema", kPlanPageSchema);
    out.field("title", page_.title);
    out.field("said", sentences_of(plan_, page_));
    out.field("times", page_.times);
    out.field("measured", page_.is_measured);
    out.field("graph", page_.graph);
    out.field("run_ns", in_ns(page_.timeline.seconds));
    out.field("latest_reduce", figures_of(plan_, page_.timeline, page_.phases).latest_reduce);
    out.field("memory", memory());
    out.field("workers", workers());
    out.field("steps", steps());
    out.field("slots", slots());
    out.field("rectangles", rectangles());
    out.field("texts", texts_.texts());
    out.end();
    return text.str();
  }

 private:
  Json memory() const {
    Json parts = Json::array(), largest = Json::array();
    for (const auto& [name, bytes] : page_.memory.parts())
      parts.push_back({std::string(name), bytes});
    const MemoryNeed need = need_of(plan_, page_.memory);
    for (const LargeValue& value : largest_values(plan_, need.worker, kLargestShown))
      largest.push_back({value.name, value.bytes, value.kind});
    return {{"need", need.bytes},    {"of", need.of},
            {"limit", page_.limit},  {"parts", parts},
            {"largest", largest},    {"largest_of", text_of(plan_.workers[need.worker])},
            {"advice", page_.advice}};
  }

  Json workers() const {
    Json list = Json::array();
    const std::vector<ArenaRectangle>& all = found_;
    for (std::size_t w = 0; w < plan_.workers.size(); ++w) {
      const Worker& worker = plan_.workers[w];
      const ArenaPeak peak = peak_of(plan_, all, static_cast<int>(w));
      list.push_back({{"name", text_of(worker)},
                      {"communicates", worker.communicates()},
                      {"arena", worker.arena_bytes},
                      {"peak", peak.bytes},
                      {"peak_at", in_ns(peak.at)}});
    }
    return list;
  }

  Json steps() {
    const auto& list = plan_.steps;
    Json begin = Json::array(), end = begin, awaited = begin, phase = begin;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const PlacedStep& placed = page_.timeline.steps[i];
      begin.push_back(in_ns(placed.begins));
      end.push_back(in_ns(placed.ends));
      awaited.push_back(placed.awaited);
      phase.push_back(static_cast<int>(page_.phases[i]));
    }
    return {
        {"name", json_column(list, [&](const PlanStep& step) { return texts_(step.name); })},
        {"type", json_column(list, [&](const PlanStep& step) { return texts_(step.type); })},
        {"kernel", json_column(list, [&](const PlanStep& step) { return kernel(step); })},
        {"worker", json_column(list, [](const PlanStep& step) { return step.worker; })},
        {"collective", json_column(list, [](const PlanStep& step) { return is_collective(step); })},
        {"phase", phase},
        {"begin", begin},
        {"end", end},
        {"awaited", awaited},
        {"waits", json_column(list, [&](const PlanStep& step) { return waits(step); })},
        {"in", json_column(list, [](const PlanStep& step) { return Json(step.in); })},
        {"out", json_column(list, [](const PlanStep& step) { return Json(step.out); })},
        {"workspace", json_column(list, [](const PlanStep& step) { return step.workspace; })},
        {"products", json_column(list, [](const PlanStep& step) { return step.flops.products; })},
        {"bytes", json_column(list, [&](const PlanStep& step) { return bytes_of(plan_, step); })}};
  }

  int kernel(const PlanStep& step) {
    const std::string how = step.kernel->describe();
    std::string text = step.candidate + (how.empty() ? "" : ", " + how);
    if (step.parts > 1) text += join(", part ", step.part + 1, " of ", step.parts);
    return texts_(text);
  }

  Json waits(const PlanStep& step) const {
    return json_column(step.waits, [&](const Wait& wait) { return awaited_step(plan_, wait); });
  }

  Json slots() {
    const auto& list = plan_.slots;
    return {
        {"name", json_column(list, [&](const Slot& slot) { return texts_(slot.name); })},
        {"form", json_column(list, [&](const Slot& slot) { return texts_(join(slot.desc)); })},
        {"place",
         json_column(list, [&](const Slot& slot) { return texts_(text_of_place(plan_, slot)); })},
        {"block", json_column(list, [](const Slot& slot) {
           return slot.storage == Storage::in_arena ? slot.index : -1;
         })}};
  }

  Json rectangles() const {
    const auto block = [&](const ArenaRectangle& each) -> const Block& {
      return plan_.blocks[each.block];
    };
    using Each = const ArenaRectangle&;
    const auto& list = found_;
    return {{"block", json_column(list, [](Each each) { return each.block; })},
            {"worker", json_column(list, [&](Each each) { return block(each).worker; })},
            {"offset", json_column(list, [&](Each each) { return block(each).offset; })},
            {"bytes", json_column(list, [&](Each each) { return block(each).bytes; })},
            {"begin", json_column(list, [](Each each) { return in_ns(each.begins); })},
            {"end", json_column(list, [](Each each) { return in_ns(each.ends); })},
            {"slots", json_column(list, [](Each each) { return Json(each.slots); })},
            {"producer", json_column(list, [](Each each) { return each.producer; })},
            {"last", json_column(list, [](Each each) { return each.last_user; })}};
  }

  const Plan& plan_;
  const PlanPage& page_;
  const std::vector<ArenaRectangle> found_ = rectangles_of(plan_, page_.timeline);
  TextTable texts_;
};

}  // namespace

std::vector<std::string> sentences_of(const Plan& plan, const PlanPage& page) {
  const TimelineFigures figures = figures_of(plan, page.timeline, page.phases);
  const auto ms = [](double seconds) { return short_number(seconds * 1e3) + " ms"; };
  std::vector<std::string> said{join("A step takes ", ms(page.timeline.seconds), " (",
                                     page.is_measured ? "measured" : "predicted", "): ")};
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    if (figures.busy[phase] > 0)
      said.back() += join(name_of(static_cast<Phase>(phase)), " ", ms(figures.busy[phase]), ", ");
  said.back() += join("waiting ", ms(std::max(figures.waiting, 0.0)));
  if (plan.workers.size() > 1 && figures.busiest >= 0)
    said.back() += join(", on ", text_of(plan.workers[figures.busiest]));
  said.back() += ".";
  if (figures.latest_reduce >= 0) {
    const PlanStep& reduce = plan.steps[figures.latest_reduce];
    const bool early = figures.after_backward < 0;
    said.push_back(join("The latest reduce, ", printable(shortened(reduce.name)), " on ",
                        text_of(plan.workers[reduce.worker]), ", ends ",
                        ms(std::abs(figures.after_backward)), early ? " before" : " after",
                        " the last backward step. Communication is exposed for ",
                        ms(figures.exposed)));
    if (figures.exposed_on >= 0)
      said.back() += join(" on ", text_of(plan.workers[figures.exposed_on]), ", ",
                          percent(figures.exposed / page.timeline.seconds), " of the step");
    said.back() += ".";
  }
  const MemoryNeed need = need_of(plan, page.memory);
  said.push_back(join("Memory: ", need.of, " ", text_of(need, page.limit), ". By kind"));
  const char* separator = ": ";
  for (const auto& [kind, bytes] : page.memory.parts()) {
    said.back() += join(separator, kind, " ", text_of_bytes(bytes));
    separator = ", ";
  }
  said.back() += ".";
  return said;
}

void write_page(std::ostream& out, const Plan& plan, const PlanPage& page) {
  check(page.phases.size() == plan.steps.size() && page.timeline.steps.size() == plan.steps.size(),
        "internal: the page of a plan of ", plan.steps.size(), " steps has times of ",
        page.timeline.steps.size(), " and phases of ", page.phases.size());
  Page html{page.title,
            {"theme.css", "plan.css"},
            {"viewport.js", "plan_data.js", "plan_lanes.js", "plan_arena.js", "plan_details.js",
             "plan_page.js"},
            std::string(resource("plan.html"))};
  html.data.push_back({"data", PlanPageData(plan, page).json()});
  html.command = page.command;
  write_page(out, html);
}

}  // namespace lockstep
