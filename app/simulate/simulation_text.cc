// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <sstream>

#include "app/format.h"
#include "app/simulate/simulation.h"
#include "graph/limits.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

std::string milliseconds(double seconds) { return fixed(1e3 * seconds, 3) + " ms"; }
std::string bytes_in_words(double bytes) {
  return text_of_bytes(static_cast<std::size_t>(std::max(bytes, 0.0)));
}

class SimulationPage {
 public:
  explicit SimulationPage(const Simulation& simulation) : made_(simulation) {}

  std::string write() {
    const Cluster& cluster = made_.cluster;
    out_ << printable(made_.source) << " on " << count_of(cluster.hosts, "host", "hosts") << " x "
         << count_of(cluster.devices, "device", "devices") << " in "
         << count_of(cluster.all_processes(), "process", "processes") << " ("
         << printable(cluster.name) << ")\n";
    write_step();
    write_times();
    write_curve();
    if (made_.found) write_found(*made_.found);
    for (const std::string& note : made_.replica.notes) out_ << "note: " << printable(note) << "\n";
    return out_.str();
  }

 private:
  void line(const char* title, const std::string& text) {
    out_ << "  " << std::left << std::setw(15) << title << text << "\n";
  }

  void write_step() {
    const SimulatedStep& step = made_.step();
    line("step", milliseconds(step.seconds) + ", " + short_number(made_.examples() / step.seconds) +
                     " examples/s; " +
                     (made_.planned ? "the workers of its plans, with their waits"
                                    : "one replica for all: " + made_.why_not_planned));
    if (made_.planned) line("alike", milliseconds(made_.alike.seconds) + " by the law alone");
    if (made_.each)
      line("each", milliseconds(made_.each->seconds) + " with every device and message by itself");
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::reduce, Phase::update})
      line(std::string(name_of(phase)).c_str(), milliseconds(step.phase(phase)));
    line("exposed", milliseconds(step.exposed) + " of communication that no computation hides");
    line("messages", in_units(made_.alike.messages) + ", " + bytes_in_words(made_.alike.bytes) +
                         " by all devices, with " + words_of(made_.choice));
    const double memory = step.memory, most = made_.cluster.memory;
    line("memory", bytes_in_words(memory) + " of a device" +
                       (most <= 0        ? ""
                        : memory <= most ? ", which has " + bytes_in_words(most)
                                         : ": TOO LARGE, it has " + bytes_in_words(most)));
  }

  void write_times() {
    const TimeSources& sources = made_.sources;
    line("kernel times", join(sources.by_name, " by name, ", sources.by_shape,
                              " by type and shape, ", sources.by_roofline, " by the roofline"));
    const int busy = std::min(made_.cluster.devices, 1 << 20);
    if (made_.profiled_devices > 0 && made_.profiled_devices != busy)
      out_ << "note: in the profile "
           << count_of(made_.profiled_devices, "device was", "devices were") << " busy, here "
           << count_of(busy, "is", "are")
           << "; devices of one host share its memory, and CPU replicas its cores, so times may "
              "differ\n";
  }

  void write_curve() {
    if (made_.curve.empty()) return;
    out_ << "  devices  hosts       step   exposed  efficiency  examples/s"
         << (made_.found ? "   with the best options" : "") << "\n";
    for (const ScalingPoint& point : made_.curve) {
      const int devices = point.cluster.all_devices();
      const double examples = made_.replica.examples * devices;
      const auto efficiency = [&](const SimulatedStep& step) {
        return percent(made_.alone.seconds / step.seconds);
      };
      out_ << std::right << std::setw(9) << devices << std::setw(7) << point.cluster.hosts
           << std::setw(11) << fixed(1e3 * point.step.seconds, 3) << std::setw(10)
           << fixed(1e3 * point.step.exposed, 3) << std::setw(12) << efficiency(point.step)
           << std::setw(12) << short_number(examples / point.step.seconds);
      if (point.best)
        out_ << std::setw(12) << fixed(1e3 * point.best->seconds, 3) << std::setw(10)
             << efficiency(*point.best);
      out_ << "\n";
    }
  }

  void write_found(const SearchResult& found) {
    out_ << "best of " << found.tried << " choices for " << made_.cluster.all_devices()
         << " devices\n";
    const auto row = [&](const ScoredChoice& one) {
      out_ << std::right << std::setw(11) << fixed(1e3 * one.step.seconds, 3) << " ms"
           << std::setw(11) << fixed(1e3 * one.step.exposed, 3) << " ms exposed  "
           << words_of(one.choice) << " --packing " << text_of(one.choice.packing) << "\n";
    };
    row(found.best);
    if (found.best.choice.wire != DType::undefined) row(found.exact);
    constexpr std::size_t kShown = 5;
    for (std::size_t i = 1; i < std::min(found.by_spec.size(), kShown); ++i) row(found.by_spec[i]);
    if (!found.fits)
      out_ << "note: even with " << found.best.choice.micro_batches
           << " micro-batches the step needs more memory than a device has\n";
  }

  const Simulation& made_;
  std::ostringstream out_;
};

}  // namespace

std::string text_of(const Simulation& simulation) { return SimulationPage(simulation).write(); }

}  // namespace lockstep
