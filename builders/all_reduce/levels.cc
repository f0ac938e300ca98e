// LOCAL/CROSS: a process's replicas sum on their first one, the first ones of all processes sum by
// another algorithm, and the result goes back to all.
#include "builders/all_reduce/algorithm.h"

namespace lockstep {
namespace {

using SumOfFirsts = std::vector<Value> (*)(const Terms& firsts);

std::vector<Value> sum_in_levels(const Terms& whole, int processes, SumOfFirsts sum_firsts) {
  const std::size_t per_process = whole.values.size() / processes;
  Terms firsts{whole.pieces, {}, {}, whole.length};
  for (int process = 0; process < processes; ++process) {
    std::vector<Value> terms;
    const std::size_t begin = process * per_process;
    const int first = whole.replicas[begin];
    for (std::size_t k = begin; k < begin + per_process; ++k)
      terms.push_back(whole.pieces.bring(whole.values[k], whole.replicas[k], first));
    firsts.values.push_back(whole.pieces.sum(terms, first));
    firsts.replicas.push_back(first);
  }
  const std::vector<Value> sums = processes > 1 ? sum_firsts(firsts) : firsts.values;
  std::vector<Value> results;
  for (std::size_t k = 0; k < whole.values.size(); ++k)
    results.push_back(whole.pieces.bring(sums[k / per_process], firsts.replicas[k / per_process],
                                         whole.replicas[k]));
  return results;
}

AllReduceAlgorithm in_levels(const std::string& cross, SumOfFirsts sum_firsts,
                             double (*seconds_across)(const Costs&), bool in_auto) {
  return {.name = "nccl/" + cross,
          .what = "within each process on its first replica, across processes by " + cross,
          .build =
              [sum_firsts](const Terms& terms, const AlgorithmUse& use) {
                return sum_in_levels(terms, use.processes, sum_firsts);
              },
          .seconds =
              [seconds_across](const Costs& costs) {
                const double local = costs.to_first_and_back();
                return costs.processes() == 1 ? local : local + seconds_across(costs);
              },
          .auto_shards = [in_auto](int replicas, int processes) -> int64_t {
            return in_auto && processes > 1 && replicas > processes ? 1 : 0;
          },
          .also_called = "pscpu/" + cross};
}

}  // namespace

std::vector<AllReduceAlgorithm> algorithms_in_levels() {
  return {
      in_levels(
          "rechd", sum_by_halving,
          [](const Costs& costs) { return costs.halving(costs.across(), costs.processes()); },
          true),
      in_levels(
          "xring",
          [](const Terms& firsts) {
            return sum_by_ring(firsts, static_cast<int>(firsts.values.size()), 1, {0});
          },
          [](const Costs& costs) { return costs.ring(costs.across(), costs.processes()); }, true),
      in_levels(
          "pscpu", [](const Terms& firsts) { return sum_by_shuffle(firsts, firsts.replicas); },
          [](const Costs& costs) { return costs.gather_across(costs.processes()); }, false)};
}

}  // namespace lockstep
