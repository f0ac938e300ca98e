// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/profile.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

struct KindOfKernel {
  std::string name;
  double seconds = 0, least = 0, bytes = 0, operations = 0;  // of a run
  int kernels = 0;
};

std::string name_of(const PlanStep& step) {
  const std::string how = step.kernel->describe();
  return step.type + (how.empty() ? "" : " [" + how + "]");
}

std::vector<KindOfKernel> kinds_of(const Plan& plan, const Profile& profile) {
  std::map<std::string, KindOfKernel> by_name;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    KindOfKernel& kind = by_name[name_of(step)];
    kind.name = name_of(step);
    kind.seconds += profile.seconds[i] / profile.runs;
    kind.bytes += static_cast<double>(bytes_of(plan, step));
    kind.operations += step.flops.products;
    if (profile.rates) kind.least += least_seconds(plan, step, *profile.rates);
    ++kind.kernels;
  }
  std::vector<KindOfKernel> kinds;
  for (auto& [name, kind] : by_name) kinds.push_back(std::move(kind));
  std::ranges::stable_sort(kinds, std::greater(), &KindOfKernel::seconds);
  return kinds;
}

// A number of this width; blank if there is none.
std::string column(double value, int width, int digits) {
  std::ostringstream out;
  if (value > 0)
    out << std::fixed << std::setw(width) << std::setprecision(digits) << value;
  else
    out << std::string(width, ' ');
  return out.str();
}

std::string rates_of(const KindOfKernel& kind) {
  return column(kind.bytes / kind.seconds / 1e9, 8, 1) +
         column(kind.operations / kind.seconds / 1e9, 9, 0) +
         column(100 * kind.least / kind.seconds, 8, 0);
}

}  // namespace

namespace {

// The phase of a step, by its results: new values of states, gradients, other values.
const char* phase_of(const Plan& plan, const PlanStep& step) {
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(step.out,
                               [&](int slot) { return slot >= 0 && holds(plan.slots[slot]); });
  };
  if (any([](const Slot& slot) { return slot.storage == Storage::in_state; })) return "update";
  if (any([](const Slot& slot) { return slot.name.find("_grad") != std::string::npos; }))
    return "backward";
  return "forward";
}

}  // namespace

void print_phases(const Plan& plan, const Profile& profile) {
  std::map<std::string, KindOfKernel> phases;
  double all = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    KindOfKernel& phase = phases[phase_of(plan, plan.steps[i])];
    phase.seconds += profile.seconds[i] / profile.runs;
    all += profile.seconds[i] / profile.runs;
    ++phase.kernels;
  }
  for (const char* name : {"forward", "backward", "update"})
    std::cout << std::fixed << std::setw(10) << std::setprecision(1) << phases[name].seconds * 1e3
              << std::setw(7) << 100 * phases[name].seconds / all << std::setw(9)
              << phases[name].kernels << "  " << name << "\n";
}

namespace {

// The operator that makes the first value of each block, and its phase.
std::vector<std::string> makers_of_blocks(const Plan& plan) {
  std::vector<std::string> makers(plan.blocks.size(), "fed");
  std::vector<bool> known(plan.blocks.size(), false);
  const auto made = [&](int block, const std::string& by) {
    if (block < 0 || known[block]) return;
    known[block] = true;
    makers[block] = by;
  };
  for (const int slot : plan.feeds)
    if (slot >= 0 && plan.slots[slot].storage == Storage::in_arena)
      made(plan.slots[slot].index, "fed");
  for (const PlanStep& step : plan.steps) {
    for (const int slot : step.out)
      if (slot >= 0 && plan.slots[slot].storage == Storage::in_arena)
        made(plan.slots[slot].index, join(phase_of(plan, step), ": ", step.type));
    made(step.workspace, join(phase_of(plan, step), ": workspace of ", step.type));
  }
  return makers;
}

}  // namespace

void print_fullest(const Plan& plan) {
  const auto largest =
      std::ranges::max_element(plan.workers, {}, [](const Worker& w) { return w.arena_bytes; });
  const int worker = static_cast<int>(largest - plan.workers.begin());
  std::map<int, int64_t> changes;  // of the living bytes, by node
  for (const Block& block : plan.blocks) {
    if (block.worker != worker) continue;
    changes[block.first] += static_cast<int64_t>(block.bytes);
    changes[block.last + 1] -= static_cast<int64_t>(block.bytes);
  }
  int fullest = 0;
  int64_t living = 0, most = 0;
  for (const auto& [node, change] : changes) {
    living += change;
    if (living > most) {
      most = living;
      fullest = node;
    }
  }
  const std::vector<std::string> makers = makers_of_blocks(plan);
  std::map<std::string, double> bytes;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    const Block& block = plan.blocks[i];
    if (block.worker == worker && block.first <= fullest && fullest <= block.last)
      bytes[makers[i]] += static_cast<double>(block.bytes);
  }
  std::vector<std::pair<double, std::string>> largest_first;
  for (const auto& [maker, size] : bytes) largest_first.emplace_back(size, maker);
  std::ranges::sort(largest_first, std::greater());
  const auto at = std::ranges::find(plan.steps, fullest, &PlanStep::node);
  std::cout << "       MiB      %  in the arena when it is fullest"
            << (at == plan.steps.end() ? "" : ", at " + at->name + " (" + at->type + ")") << "\n";
  for (const auto& [size, maker] : largest_first)
    std::cout << std::fixed << std::setw(10) << std::setprecision(1) << size / (1 << 20)
              << std::setw(7) << 100 * size / static_cast<double>(most) << "  " << maker << "\n";
}

void print_profile(const Plan& plan, const Profile& profile) {
  KindOfKernel all{.name = "all kernels"};
  const std::vector<KindOfKernel> kinds = kinds_of(plan, profile);
  for (const KindOfKernel& kind : kinds) {
    all.seconds += kind.seconds;
    all.least += kind.least;
    all.bytes += kind.bytes;
    all.operations += kind.operations;
    all.kernels += kind.kernels;
  }
  const auto line = [&](const KindOfKernel& kind) {
    std::cout << std::fixed << std::setw(10) << std::setprecision(1) << kind.seconds * 1e3
              << std::setw(7) << 100 * kind.seconds / all.seconds << std::setw(9) << kind.kernels
              << (profile.rates ? rates_of(kind) : "") << "  " << kind.name << "\n";
  };
  if (profile.rates)
    std::cout << std::fixed << std::setprecision(0)
              << "at best: " << profile.rates->operations / 1e9
              << " GFLOP/s (a product of matrices), " << std::setprecision(1)
              << profile.rates->bytes / 1e9 << " GB/s (a ReLU over 128 MiB)\n";
  if (profile.between_cores)
    std::cout << std::fixed << std::setprecision(0)
              << "between two cores: " << *profile.between_cores * 1e9
              << " ns for a cache line there and back\n";
  std::cout << "   ms/step      %  kernels" << (profile.rates ? "    GB/s  GFLOP/s  best %" : "")
            << "  operator\n";
  for (const KindOfKernel& kind : kinds) line(kind);
  line(all);
  const double outside = profile.wall / profile.runs - all.seconds;
  if (plan.workers.size() == 1)  // with several this would include their waits for each other
    std::cout << std::setw(10) << std::setprecision(3) << outside * 1e3 << std::setw(7)
              << std::setprecision(2) << 100 * outside * profile.runs / profile.wall << std::setw(9)
              << " " << (profile.rates ? std::string(25, ' ') : "") << "  outside kernels\n";
}

}  // namespace lockstep
