// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/kernel_times.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/file.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr std::size_t kMostResults = 4;  // that a trace lists

double median_of(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// "a: float32[8,3], b: int64[2]" without the names: "float32[8,3], int64[2]". Commas within a shape
// are followed by no blank.
std::string without_names(const std::string& results) {
  std::string shapes;
  for (std::size_t begin = 0; begin <= results.size();) {
    const std::size_t end = std::min(results.find(", ", begin), results.size());
    const std::string one = results.substr(begin, end - begin);
    const std::size_t colon = one.rfind(": ");
    shapes += (shapes.empty() ? "" : ", ") + (colon == one.npos ? one : one.substr(colon + 2));
    begin = end + 2;
  }
  return shapes;
}

std::string results_of(const Plan& plan, const PlanStep& step) {
  std::vector<std::string> results;
  for (const int slot : step.out)
    if (slot >= 0) results.push_back(join(plan.slots[slot].name, ": ", plan.slots[slot].desc));
  return first_listed(std::move(results), kMostResults);
}

std::string name_with_part(const std::string& name, const std::string& part) {
  return part.empty() ? name : name + ", part " + part;
}
std::string shape_key(const std::string& type, const std::string& results,
                      const std::string& part) {
  return name_with_part(type + " " + without_names(results), part);
}
std::string part_text(const PlanStep& step) {
  return step.parts > 1 ? join(step.part + 1, " of ", step.parts) : "";
}

// "float32[8,3]/c16, int64[2]" as "float32[8,3], int64[2]": machines store values in other layouts.
std::string without_layouts(const std::string& shapes) {
  std::string text;
  bool in_layout = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0 && shapes[i] == '/' && shapes[i - 1] == ']') in_layout = true;
    if (shapes[i] == ',' && shapes.compare(i, 2, ", ") == 0) in_layout = false;
    if (!in_layout) text += shapes[i];
  }
  return text;
}

// The slices of a trace, as far as a profile needs them.
class TraceReader {
 public:
  KernelProfile read(const json& trace) {
    for (const json& event : trace.at("traceEvents")) {
      const std::string kind = event.at("ph").get<std::string>();
      if (kind == "M") name_row(event);
      if (kind == "X") take(event);
    }
    for (auto& [name, times] : by_name_)
      for (auto& [operation, found] : times) {
        const auto& [type, shapes] = operation;
        profile_.by_name[name].push_back(
            {type, shapes, found.is_of_pass, median_of(std::move(found.seconds))});
      }
    for (const auto& [shape, seconds] : by_shape_) profile_.by_shape[shape] = median_of(seconds);
    profile_.feeds = median_of(feeds_);
    std::vector<double> between;
    for (auto& [row, steps] : rows_) {
      if (!computes_.contains(row)) continue;
      ++profile_.devices;
      profile_.steps =
          std::max(profile_.steps, static_cast<int>(std::ranges::count_if(steps, &Step::trains)));
      for (const Step& step : steps)
        if (step.trains && step.operators > 0)
          between.push_back(std::max(0.0, step.seconds - step.inside) / step.operators);
    }
    profile_.between = median_of(between);
    return std::move(profile_);
  }

 private:
  using Row = std::pair<int, int>;
  struct Step {
    double begins = 0, seconds = 0, inside = 0;
    bool trains = false;  // a test between training steps does not
    int operators = 0;
  };
  struct Times {
    bool is_of_pass = false;
    std::vector<double> seconds = {};
  };

  static Row row_of(const json& event) {
    return {event.at("pid").get<int>(), event.at("tid").get<int>()};
  }

  void name_row(const json& event) {
    if (event.at("name") != "thread_name") return;
    const std::string name = event.at("args").at("name").get<std::string>();
    const bool is_device = name.starts_with("cpu:") || name.starts_with("gpu:");
    if (is_device && name.find('/') == name.npos) computes_.insert(row_of(event));
  }

  // A step's slice stands before the slices inside it.
  void take(const json& event) {
    const std::string category = event.value("cat", "");
    const double seconds = event.at("dur").get<double>() * 1e-6;
    const double begins = event.at("ts").get<double>() * 1e-6;
    std::vector<Step>& steps = rows_[row_of(event)];
    const std::string name = event.at("name").get<std::string>();
    if (category == "step") {
      steps.push_back({begins, seconds, 0, name.starts_with("step ")});
      return;
    }
    if (steps.empty() || begins > steps.back().begins + steps.back().seconds) return;
    if (!steps.back().trains) return;
    const bool is_operator = event.contains("args") && event["args"].contains("operator");
    if (category == "data" && name == "feeds") feeds_.push_back(seconds);
    if (category == "wait" || category == "data" || is_operator) steps.back().inside += seconds;
    if (!is_operator) return;
    ++steps.back().operators;
    const json& args = event["args"];
    const std::string part = args.value("part", "");
    const std::string type = args.at("operator").get<std::string>();
    const std::string results = args.value("results", "");
    Times& times =
        by_name_[name_with_part(name, part)][{type, without_layouts(without_names(results))}];
    times.is_of_pass = category == "forward" || category == "backward";
    times.seconds.push_back(seconds);
    by_shape_[shape_key(type, results, part)].push_back(seconds);
  }

  KernelProfile profile_;
  std::map<std::string, std::map<std::pair<std::string, std::string>, Times>> by_name_;
  std::map<std::string, std::vector<double>> by_shape_;
  std::map<Row, std::vector<Step>> rows_;
  std::set<Row> computes_;
  std::vector<double> feeds_;
};

}  // namespace

KernelProfile profile_of(const std::string& text, const std::string& path) {
  KernelProfile profile;
  try {
    const json trace = json::parse(text);
    const std::string schema = trace.at("otherData").value("schema", "");
    check(schema == "lockstep.trace/1", path, ": is no trace of Lockstep (its schema is '",
          printable(schema), "'); `lockstep bench train-step --trace FILE` writes one");
    profile = TraceReader().read(trace);
  } catch (const json::exception& error) {
    fail(path, ": is no trace of Lockstep: ", printable(error.what()),
         "; `lockstep bench train-step --trace FILE` writes one");
  }
  check(!profile.by_name.empty(), path,
        ": has no times of operators in a training step; trace at least one (--trace-steps)");
  return profile;
}

KernelProfile read_profile(const std::string& path) { return profile_of(read_file(path), path); }

KernelTimes::KernelTimes(const Cluster& cluster) : cluster_(cluster) {
  if (!cluster.profile.empty()) profile_ = read_profile(cluster.profile);
}

std::string shapes_of(const Plan& plan, const PlanStep& step) {
  return without_layouts(without_names(results_of(plan, step)));
}

const std::vector<NamedTime>* times_named(const KernelProfile& profile, const PlanStep& step) {
  const auto found = profile.by_name.find(name_with_part(step.name, part_text(step)));
  return found == profile.by_name.end() ? nullptr : &found->second;
}

std::optional<double> KernelTimes::measured(const Plan& plan, const PlanStep& step) {
  const std::string part = part_text(step);
  if (const std::vector<NamedTime>* times = times_named(profile_, step)) {
    const auto same = std::ranges::find(*times, shapes_of(plan, step), &NamedTime::shapes);
    if (same != times->end()) {
      ++sources_.by_name;
      return same->seconds + between();
    }
  }
  if (const auto found = profile_.by_shape.find(shape_key(step.type, results_of(plan, step), part));
      found != profile_.by_shape.end()) {
    ++sources_.by_shape;
    return found->second + between();
  }
  return std::nullopt;
}

double KernelTimes::of(const Plan& plan, const PlanStep& step) {
  if (const std::optional<double> seconds = measured(plan, step)) return *seconds;
  check(cluster_.has_roofline(), cluster_.profile, ": has no time of ", printable(step.name), " (",
        step.type,
        ") and of no operator with its type and shape; trace this step with this batch, "
        "or give ",
        Key{"DEVICE.FLOPS"}, " and ", Key{"DEVICE.BANDWIDTH"}, " in ", cluster_.name,
        ", so that missing times follow from the roofline");
  ++sources_.by_roofline;
  const auto bytes = static_cast<double>(bytes_of(plan, step));
  return std::max(step.flops.products / cluster_.flops, bytes / cluster_.bandwidth) + between();
}

double KernelTimes::feeds(const Plan& plan, int worker) const {
  if (profile_.steps > 0) return profile_.feeds;
  double bytes = 0;
  for (const int slot : plan.feeds)
    if (slot >= 0 && plan.slots[slot].worker == worker)
      bytes += static_cast<double>(plan.slots[slot].desc.bytes());
  if (plan.workers[worker].device.info().in_host_memory) return cluster_.memory_seconds(2 * bytes);
  const ClusterLink& link = cluster_.link(LinkKind::copies);
  const double sharing = link.shared ? cluster_.devices : 1;
  return link.speed.latency + sharing * bytes / link.speed.bandwidth;
}

}  // namespace lockstep
