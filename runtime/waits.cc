#include "runtime/waits.h"

#include <algorithm>

namespace lockstep {
namespace {

// One region of memory that steps use: a block or a state.
struct Region {
  std::vector<int> accesses;  // steps, ascending
  std::vector<int> writes;
};

class WaitPlanner {
 public:
  explicit WaitPlanner(Plan& plan)
      : plan_(plan),
        blocks_(plan.blocks.size()),
        states_(plan.states.size()),
        needs_(plan.steps.size()) {
    local_index_.resize(plan.steps.size());
    for (const auto& steps : plan.of_worker)
      for (std::size_t i = 0; i < steps.size(); ++i) local_index_[steps[i]] = static_cast<int>(i);
  }

  void run() {
    follow_operands();
    follow_reuse();
    reduce();
  }

 private:
  Region* region_of(int slot) {
    if (slot < 0) return nullptr;
    const Slot& of = plan_.slots[slot];
    if (of.storage == Storage::arena) return &blocks_[of.index];
    if (of.storage == Storage::state) return &states_[of.index];
    return nullptr;
  }

  void need(int step, int earlier) {
    if (earlier != step && plan_.steps[earlier].worker != plan_.steps[step].worker &&
        !same_collective(step, earlier))
      needs_[step].push_back(earlier);
  }

  // Parts of one collective touch the same memory, each its own share of it.
  bool same_collective(int a, int b) const {
    return plan_.steps[a].parts > 1 && plan_.steps[a].node == plan_.steps[b].node;
  }

  void follow_operands() {
    for (int step = 0; step < static_cast<int>(plan_.steps.size()); ++step) {
      const PlanStep& at = plan_.steps[step];
      for (int slot : at.in)
        if (Region* region = region_of(slot))
          for (int writer : region->writes) need(step, writer);
      for (int slot : at.out)
        if (Region* region = region_of(slot))
          for (int user : region->accesses) need(step, user);
      for (int slot : at.in)
        if (Region* region = region_of(slot)) region->accesses.push_back(step);
      for (int slot : at.out)
        if (Region* region = region_of(slot)) {
          region->accesses.push_back(step);
          region->writes.push_back(step);
        }
      if (at.workspace >= 0) {
        blocks_[at.workspace].accesses.push_back(step);
        blocks_[at.workspace].writes.push_back(step);
      }
    }
  }

  bool foreign(int block) const {
    return std::any_of(blocks_[block].accesses.begin(), blocks_[block].accesses.end(),
                       [&](int s) { return plan_.steps[s].worker != plan_.blocks[block].worker; });
  }

  void follow_reuse() {
    std::vector<char> is_foreign(plan_.blocks.size());
    for (std::size_t i = 0; i < is_foreign.size(); ++i)
      is_foreign[i] = foreign(static_cast<int>(i));
    for (std::size_t a = 0; a < plan_.blocks.size(); ++a)
      for (std::size_t b = 0; b < plan_.blocks.size(); ++b)
        if ((is_foreign[a] || is_foreign[b]) && succeeds(plan_.blocks[a], plan_.blocks[b]))
          for (int writer : blocks_[b].writes)
            for (int user : blocks_[a].accesses) need(writer, user);
  }

  // Does `later` take over bytes of `earlier`?
  static bool succeeds(const Block& earlier, const Block& later) {
    return earlier.worker == later.worker && earlier.last < later.first &&
           earlier.offset < later.offset + later.bytes &&
           later.offset < earlier.offset + earlier.bytes;
  }

  void reduce() {
    const std::size_t workers = plan_.of_worker.size();
    std::vector<std::vector<int>> known(workers, std::vector<int>(workers, -1));
    for (std::size_t step = 0; step < plan_.steps.size(); ++step) {
      PlanStep& at = plan_.steps[step];
      std::vector<int> latest(workers, -1);
      for (int earlier : needs_[step])
        latest[plan_.steps[earlier].worker] =
            std::max(latest[plan_.steps[earlier].worker], local_index_[earlier]);
      for (std::size_t worker = 0; worker < workers; ++worker) {
        if (latest[worker] <= known[at.worker][worker]) continue;
        known[at.worker][worker] = latest[worker];
        at.waits.push_back({static_cast<int>(worker), latest[worker]});
      }
    }
  }

  Plan& plan_;
  std::vector<Region> blocks_;
  std::vector<Region> states_;
  std::vector<std::vector<int>> needs_;
  std::vector<int> local_index_;
};

}  // namespace

void plan_waits(Plan& plan) { WaitPlanner(plan).run(); }

}  // namespace lockstep
