// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/waits.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace lockstep {
namespace {

// The last access of a worker to a region of memory. `before`: the access before, if the last
// access belongs to the same collective as the step in question. Waiting for a worker's last step
// covers its earlier steps.
struct Latest {
  int worker = 0;
  int step = -1;
  int before = -1;
};

// A region of memory that steps use: a block or a state.
struct Region {
  std::vector<Latest> accesses;  // one per worker that accesses the region
  std::vector<Latest> writes;
  std::vector<std::pair<int, int>> first_write;  // worker, step
};

// The last step of each worker, -1 for none.
using Front = std::vector<int>;

void raise(Front& front, const Front& other) {
  for (std::size_t i = 0; i < front.size(); ++i) front[i] = std::max(front[i], other[i]);
}

// Earlier uses of an arena, by bytes: the last steps of all blocks that used the bytes.
class History {
 public:
  struct Past {
    Front all;
    Front foreign;  // of blocks that other workers than the owner use
  };

  explicit History(std::size_t workers) : ranges_{{0, {Front(workers, -1), Front(workers, -1)}}} {}

  void add(const Block& block, const Front& front, bool foreign) {
    split(block.offset + block.bytes);
    for (auto it = split(block.offset); before_end(it, block); ++it) {
      raise(it->second.all, front);
      if (foreign) raise(it->second.foreign, front);
    }
  }

  Front of(const Block& block, bool foreign) const {
    auto it = std::prev(ranges_.upper_bound(block.offset));
    Front front = foreign ? it->second.all : it->second.foreign;
    for (; before_end(it, block); ++it) raise(front, foreign ? it->second.all : it->second.foreign);
    return front;
  }

 private:
  using Ranges = std::map<std::size_t, Past>;  // each range ends at the next start

  template <class Iterator>
  bool before_end(Iterator it, const Block& block) const {
    return it != ranges_.end() && it->first < block.offset + block.bytes;
  }
  Ranges::iterator split(std::size_t offset) {
    auto it = std::prev(ranges_.upper_bound(offset));
    return it->first == offset ? it : ranges_.emplace_hint(std::next(it), offset, it->second);
  }

  Ranges ranges_;
};

class WaitPlanner {
 public:
  explicit WaitPlanner(Plan& plan)
      : plan_(plan),
        blocks_(plan.blocks.size()),
        states_(plan.states.size()),
        needs_(plan.steps.size()) {
    local_index_.resize(plan.steps.size());
    for (const Worker& worker : plan.workers)
      for (std::size_t i = 0; i < worker.steps.size(); ++i)
        local_index_[worker.steps[i]] = static_cast<int>(i);
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
    if (of.storage == Storage::in_arena) return &blocks_[of.index];
    if (of.storage == Storage::in_state) return &states_[of.index];
    return nullptr;
  }

  void need(int step, int earlier) {
    if (earlier != step && plan_.steps[earlier].worker != plan_.steps[step].worker &&
        !same_collective(step, earlier))
      needs_[step].push_back(earlier);
  }

  // True for parts of one collective: they access the same memory, but different parts of it.
  bool same_collective(int a, int b) const {
    return plan_.steps[a].parts > 1 && plan_.steps[a].node == plan_.steps[b].node;
  }

  void note(std::vector<Latest>& list, int step) const {
    const int worker = plan_.steps[step].worker;
    auto found = std::find_if(list.begin(), list.end(),
                              [&](const Latest& latest) { return latest.worker == worker; });
    if (found == list.end()) {
      list.push_back({worker, step, -1});
    } else if (found->step != step) {
      if (!same_collective(found->step, step)) found->before = found->step;
      found->step = step;
    }
  }

  void note_access(Region& region, int step) const { note(region.accesses, step); }

  void note_write(Region& region, int step) const {
    note(region.accesses, step);
    note(region.writes, step);
    const int worker = plan_.steps[step].worker;
    for (const auto& [known, unused] : region.first_write)
      if (known == worker) return;
    region.first_write.emplace_back(worker, step);
  }

  void need_all(int step, const std::vector<Latest>& list) {
    for (const Latest& latest : list) {
      const int earlier = same_collective(step, latest.step) ? latest.before : latest.step;
      if (earlier >= 0) need(step, earlier);
    }
  }

  void follow_operands() {
    for (int step = 0; step < static_cast<int>(plan_.steps.size()); ++step) {
      const PlanStep& at = plan_.steps[step];
      for (int slot : at.in)
        if (Region* region = region_of(slot)) need_all(step, region->writes);
      for (int slot : at.out)
        if (Region* region = region_of(slot)) need_all(step, region->accesses);
      for (int slot : at.in)
        if (Region* region = region_of(slot)) note_access(*region, step);
      for (int slot : at.out)
        if (Region* region = region_of(slot)) note_write(*region, step);
      if (at.workspace >= 0) note_write(blocks_[at.workspace], step);
    }
  }

  bool foreign(std::size_t block) const {
    return std::any_of(
        blocks_[block].accesses.begin(), blocks_[block].accesses.end(),
        [&](const Latest& latest) { return latest.worker != plan_.blocks[block].worker; });
  }

  // Only a worker's first write has to wait: its later writes follow.
  void follow_reuse() {
    std::vector<std::vector<std::size_t>> of_worker(plan_.workers.size());
    std::vector<bool> shared(plan_.workers.size(), false);
    for (std::size_t i = 0; i < plan_.blocks.size(); ++i) {
      if (plan_.blocks[i].bytes == 0) continue;
      const std::size_t worker = plan_.blocks[i].worker;
      of_worker[worker].push_back(i);
      shared[worker] = shared[worker] || foreign(i);
    }
    for (std::size_t worker = 0; worker < of_worker.size(); ++worker)
      if (shared[worker]) follow_reuse_of(of_worker[worker]);
  }

  void follow_reuse_of(const std::vector<std::size_t>& blocks) {
    std::vector<std::size_t> by_first = blocks, by_last = blocks;
    std::stable_sort(by_first.begin(), by_first.end(), [&](std::size_t a, std::size_t b) {
      return plan_.blocks[a].first < plan_.blocks[b].first;
    });
    std::stable_sort(by_last.begin(), by_last.end(), [&](std::size_t a, std::size_t b) {
      return plan_.blocks[a].last < plan_.blocks[b].last;
    });
    History history(plan_.workers.size());
    std::size_t gone = 0;
    for (std::size_t at : by_first) {
      const Block& block = plan_.blocks[at];
      for (; plan_.blocks[by_last[gone]].last < block.first; ++gone)
        history.add(plan_.blocks[by_last[gone]], front_of(by_last[gone]), foreign(by_last[gone]));
      const Front front = history.of(block, foreign(at));
      for (const auto& [unused, step] : blocks_[at].first_write)
        for (int earlier : front)
          if (earlier >= 0) need(step, earlier);
    }
  }

  Front front_of(std::size_t block) const {
    Front front(plan_.workers.size(), -1);
    for (const Latest& latest : blocks_[block].accesses) front[latest.worker] = latest.step;
    return front;
  }

  void reduce() {
    const std::size_t workers = plan_.workers.size();
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
