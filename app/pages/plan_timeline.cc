// SPDX-License-Identifier: Apache-2.0
#include "app/pages/plan_timeline.h"

#include <algorithm>
#include <array>

#include "app/format.h"
#include "lockstep/error.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

// One thread of a server's processor with AVX-512; an H200. Communication: messages between
// processes over a fast network; NVLink.
struct UsualRates {
  DeviceKind kind;
  WorkerRates of_thread, communicates;
};
constexpr UsualRates kUsualRates[] = {
    {DeviceKind::cpu, {60e9, 60e9, 10e9, 1e-6}, {60e9, 60e9, 1e9, 50e-6}},
    {DeviceKind::gpu, {50e12, 600e12, 4e12, 3e-6}, {50e12, 600e12, 300e9, 10e-6}},
};

bool is_narrow(const Plan& plan, const PlanStep& step) {
  return std::ranges::any_of(step.in, [&](int slot) {
    return slot >= 0 && is_floating(plan.slots[slot].desc.dtype) &&
           size_of(plan.slots[slot].desc.dtype) == 2;
  });
}

std::string with_unit(double rate, const char* unit) {
  return rate >= 1e12 ? short_number(rate / 1e12) + " T" + unit
                      : short_number(rate / 1e9) + " G" + unit;
}

}  // namespace

PlanRates usual_rates(const Plan& plan) {
  const Device& device = plan.workers.at(0).device;
  for (const UsualRates& usual : kUsualRates) {
    if (usual.kind != device.kind) continue;
    PlanRates rates{usual.of_thread, usual.communicates};
    rates.computes.operations *= plan.threads;
    rates.computes.narrow_operations *= plan.threads;
    return rates;
  }
  fail("no rates are known for ", device);
}

std::string text_of(const WorkerRates& rates) {
  std::string text = with_unit(rates.operations, "FLOP/s");
  if (rates.narrow_operations != rates.operations)
    text += join(" (", with_unit(rates.narrow_operations, "FLOP/s"), " in 16 bits)");
  return join(text, ", ", with_unit(rates.bytes, "B/s"), ", ", short_number(rates.start * 1e6),
              " us for each step");
}

std::vector<double> predicted_seconds(const Plan& plan, const PlanRates& rates) {
  std::vector<double> seconds;
  for (const PlanStep& step : plan.steps) {
    const WorkerRates& of =
        plan.workers[step.worker].communicates() ? rates.communicates : rates.computes;
    const double operations = is_narrow(plan, step) ? of.narrow_operations : of.operations;
    seconds.push_back(of.start + std::max(step.flops.products / operations,
                                          static_cast<double>(bytes_of(plan, step)) / of.bytes));
  }
  return seconds;
}

int awaited_step(const Plan& plan, const Wait& wait) {
  return plan.workers.at(wait.worker).steps.at(wait.step);
}

PlanTimeline place_steps(const Plan& plan, const std::vector<double>& seconds) {
  check(seconds.size() == plan.steps.size(), "a plan of ", plan.steps.size(),
        " steps has times of ", seconds.size());
  PlanTimeline timeline{std::vector<PlacedStep>(plan.steps.size())};
  std::vector<double> free(plan.workers.size(), 0);  // by worker: when it can begin a step
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    PlacedStep& placed = timeline.steps[i];
    placed.begins = free[step.worker];
    for (const Wait& wait : step.waits) {
      const int awaited = awaited_step(plan, wait);
      check(awaited < static_cast<int>(i), "step ", i, " '", step.name, "' waits for step ",
            awaited, ", which comes later");
      if (timeline.steps[awaited].ends <= placed.begins) continue;
      placed.begins = timeline.steps[awaited].ends;
      placed.awaited = awaited;
    }
    free[step.worker] = placed.ends = placed.begins + seconds[i];
    timeline.seconds = std::max(timeline.seconds, placed.ends);
  }
  return timeline;
}

TimelineFigures figures_of(const Plan& plan, const PlanTimeline& timeline,
                           const std::vector<Phase>& phases) {
  TimelineFigures figures;
  double most_busy = -1, backward_ends = 0;
  for (std::size_t w = 0; w < plan.workers.size(); ++w) {
    if (plan.workers[w].communicates()) continue;
    std::array<double, kPhases> busy{};
    double all = 0, exposed = 0, before = 0;
    for (const int number : plan.workers[w].steps) {
      const PlacedStep& placed = timeline.steps[number];
      const double time = placed.ends - placed.begins;
      busy[static_cast<std::size_t>(phases[number])] += time;
      all += time;
      if (phases[number] == Phase::reduce) exposed += time;
      const bool for_reduce = placed.awaited >= 0 && (phases[placed.awaited] == Phase::reduce ||
                                                      phases[number] == Phase::reduce);
      if (for_reduce) exposed += std::max(placed.begins - before, 0.0);
      before = placed.ends;
    }
    if (exposed > figures.exposed) {
      figures.exposed = exposed;
      figures.exposed_on = static_cast<int>(w);
    }
    if (all <= most_busy) continue;
    most_busy = all;
    figures.busy = busy;
    figures.waiting = timeline.seconds - all;
    figures.busiest = static_cast<int>(w);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const double ends = timeline.steps[i].ends;
    if (phases[i] == Phase::backward) backward_ends = std::max(backward_ends, ends);
    if (phases[i] != Phase::reduce) continue;
    if (figures.latest_reduce < 0 || ends > timeline.steps[figures.latest_reduce].ends)
      figures.latest_reduce = static_cast<int>(i);
  }
  if (figures.latest_reduce >= 0)
    figures.after_backward = timeline.steps[figures.latest_reduce].ends - backward_ends;
  return figures;
}

}  // namespace lockstep
