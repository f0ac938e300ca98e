// SPDX-License-Identifier: Apache-2.0
#include "app/inspect/summary.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <numeric>
#include <sstream>

#include "app/inspect/units.h"
#include "graph/printable.h"
#include "graph/summary.h"

namespace lockstep {
namespace {

constexpr std::size_t kLargest = 20;

class SummaryWriter {
 public:
  SummaryWriter(const SourcedModel& source, const ModelFigures& figures, const LookedAt& planned)
      : source_(source), figures_(figures), planned_(planned), graph_(main_graph(source.model)) {}

  std::string write(bool all) {
    out_ << counts_of(source_.model);
    write_replicas();
    write_memory();
    write_kinds();
    write_nodes(all);
    out_ << contents_of(source_.model, {.most_states = all ? SIZE_MAX : kLargest});
    return out_.str();
  }

 private:
  // Replicas with equal figures share a paragraph.
  void write_replicas() {
    const auto& replicas = figures_.replicas;
    for (std::size_t first = 0; first < replicas.size();) {
      std::size_t end = first + 1;
      while (end < replicas.size() && replicas[end] == replicas[first]) ++end;
      if (replicas.size() == 1)
        out_ << "one replica";
      else if (end - first == replicas.size())
        out_ << "each of " << replicas.size() << " replicas";
      else if (end == first + 1)
        out_ << "replica " << first;
      else
        out_ << "each of replicas " << first << " to " << end - 1;
      out_ << ", " << count_of(replicas[first].examples, "example", "examples") << "\n";
      write_replica(replicas[first]);
      if (memory_of(first).all() > 0) line("peak memory", memory_text(first, end));
      first = end;
    }
  }

  void line(const char* title, const std::string& text) {
    out_ << "  " << std::left << std::setw(13) << title << text << "\n";
  }

  void write_replica(const ReplicaFigures& replica) {
    line("parameters", in_units(replica.parameters) + ", " + bytes_text(replica.parameter_bytes) +
                           "; all states " + bytes_text(replica.state_bytes));
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::reduce, Phase::update}) {
      const Flops& flops = replica.of(phase);
      if (flops.all() == 0) continue;
      std::string text = flop_text(flops.all());
      if (flops.products > 0) {
        text += ", of which " + flop_text(flops.products) + " in products";
        if (replica.examples > 1)
          text +=
              "; " + flop_text(flops.all() / static_cast<double>(replica.examples)) + " an example";
      }
      line(std::string(name_of(phase)).c_str(), text);
    }
    if (source_.model.step.node_count() == 0) return;
    line("activations", bytes_text(replica.activation_bytes) + " that the backward pass reads");
    line("reduced", bytes_text(replica.reduced_bytes) + " in " +
                        count_of(replica.messages, "message", "messages"));
  }

  PlannedMemory memory_of(std::size_t replica) const {
    if (!planned_.plan || replica >= planned_.plan->workers.size()) return {};
    return planned_memory(*planned_.plan, static_cast<int>(replica));
  }

  // Replicas on CPUs share the states, which the plan counts once.
  std::string memory_text(std::size_t first, std::size_t end) const {
    const PlannedMemory memory = memory_of(first);
    std::string text = parts_text(memory);
    for (std::size_t other = first + 1; other < end; ++other)
      if (const PlannedMemory less = memory_of(other); less != memory)
        return text + "; of each other replica " + parts_text(less);
    return text;
  }

  static std::string parts_text(const PlannedMemory& memory) {
    std::string text = text_of_bytes(memory.all());
    const char* separator = ": ";
    for (const auto& [name, bytes] : memory.parts()) {
      if (bytes == 0) continue;
      text += join(separator, name, " ", text_of_bytes(bytes));
      separator = ", ";
    }
    return text;
  }

  void write_memory() {
    if (!figures_.why_open.empty())
      out_ << "shapes       unknown: " << printable(shortened(figures_.why_open, 400)) << "\n";
    else if (figures_.open_nodes > 0)
      out_ << "shapes       unknown at " << figures_.open_nodes
           << " nodes, whose operations are not counted\n";
    if (!planned_.plan) {
      out_ << "memory       no plan: " << printable(shortened(planned_.why, 400)) << "\n";
      return;
    }
    const Plan& plan = *planned_.plan;
    out_ << "memory       of a plan for";
    std::size_t computing = 0;
    for (const Worker& worker : plan.workers) computing += worker.communicates() ? 0 : 1;
    if (computing == 1)
      out_ << " " << text_of(plan.workers[0].device);
    else
      out_ << " " << computing << " devices, " << text_of(plan.workers[0].device) << " first";
    out_ << ": " << text_of(planned_.memory) << "\n";
  }

  void write_kinds() {
    out_ << "operators of the " << graph_.name() << " graph: nodes, arithmetic, results\n";
    for (const KindFigures& kind : figures_.kinds)
      out_ << "  " << std::right << std::setw(6) << kind.nodes << "  " << std::left << std::setw(28)
           << printable(shortened(kind.type, 60)) << std::right << std::setw(14)
           << (kind.flops > 0 ? flop_text(kind.flops) : "") << std::setw(12)
           << (kind.bytes > 0 ? bytes_text(kind.bytes) : "") << "\n";
  }

  void write_nodes(bool all) {
    std::vector<int> order(graph_.node_count());
    std::iota(order.begin(), order.end(), 0);
    const auto size = [&](int node) { return figures_.flops[node].all(); };
    std::ranges::stable_sort(order, std::greater(), size);
    const std::size_t shown = all ? order.size() : std::min(order.size(), kLargest);
    order.resize(shown);
    out_ << (all ? "nodes, most arithmetic first" : "nodes with the most arithmetic") << "\n";
    for (const int index : order) {
      const Node node = graph_.node(index);
      if (!all && size(index) == 0) break;
      const double bytes = figures_.result_bytes(node);
      out_ << "  " << std::right << std::setw(14) << (size(index) > 0 ? flop_text(size(index)) : "")
           << std::setw(12) << (bytes > 0 ? bytes_text(bytes) : "") << "  " << std::left
           << std::setw(9) << name_of(figures_.phases[index])
           << printable(shortened(node.type(), 60)) << " " << printable(shortened(node.name()))
           << "\n";
    }
    if (const int rest = graph_.node_count() - static_cast<int>(shown); rest > 0)
      out_ << "  .. and " << count_of(rest, "other node", "other nodes") << ": --all lists them\n";
  }

  const SourcedModel& source_;
  const ModelFigures& figures_;
  const LookedAt& planned_;
  const Graph& graph_;
  std::ostringstream out_;
};

}  // namespace

std::string summary_of(const SourcedModel& source, const ModelFigures& figures,
                       const LookedAt& planned, bool all) {
  return SummaryWriter(source, figures, planned).write(all);
}

}  // namespace lockstep
