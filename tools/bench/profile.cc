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
    kind.operations += operations_of(plan, step);
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
