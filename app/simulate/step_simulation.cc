// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/step_simulation.h"

#include <algorithm>
#include <numeric>

#include "app/simulate/built_rounds.h"
#include "app/simulate/engine.h"
#include "builders/all_reduce/algorithm.h"
#include "builders/all_reduce/choice.h"
#include "builders/all_reduce/spec.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int kNotReady = -1;  // before the first kernel

struct SimulatedBucket {
  Bucket gradients;
  AllReduceCase algorithm = {};
  int64_t elements = 0;
  double bytes = 0;
  int ready = kNotReady;  // the kernel after which it is complete
  bool packed = false;
  bool overlaps = false;  // a queue of its own runs the sum
};

// The parts into which a choice divides each of the step's own micro-batches.
int parts_of(const ReplicaStep& step, int micro_batches) {
  check(micro_batches % step.micro_batches == 0, "internal: ", micro_batches,
        " micro-batches of a step that has ", step.micro_batches);
  return micro_batches / step.micro_batches;
}

// A step of a cluster as tasks, of one device or of all.
class StepTasks {
 public:
  StepTasks(const ReplicaStep& step, const Cluster& cluster, const ReduceChoice& choice,
            int devices)
      : step_(step),
        cluster_(cluster),
        choice_(choice),
        parts_(parts_of(step, choice.micro_batches)),
        events_(cluster),
        queues_(devices) {
    for (int& queue : queues_) queue = events_.add_queue();
    set_order();
    set_buckets();
  }

  const std::vector<SimulatedBucket>& buckets() const { return buckets_; }
  EventSimulation& events() { return events_; }
  double computed() const { return computed_; }  // seconds of one device's own tasks
  const std::array<double, kPhases>& phases() const { return phases_; }

  // `sum(bucket, after)` adds the tasks of a sum that begins after `after` and returns the last.
  template <class Sum>
  void add_all(const Sum& sum) {
    add_on_all(step_.feeds);
    add_earlier_parts();
    std::size_t next = 0;  // bucket
    const auto add_ready = [&](int kernel) {
      for (; next < buckets_.size() && buckets_[next].ready <= kernel; ++next) reduce(next, sum);
    };
    add_ready(kNotReady);
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const ReplicaKernel& kernel = step_.kernels[order_[at]];
      for (const int gradient : kernel.awaits) unpack(bucket_of_[gradient]);
      const double seconds = seconds_of_part(kernel);
      phases_[static_cast<std::size_t>(kernel.phase)] += seconds;
      add_on_all(seconds);
      add_ready(static_cast<int>(at));
    }
  }
  const std::vector<int>& sums() const { return sums_; }

 private:
  static bool is_divided(const ReplicaKernel& kernel) {
    return kernel.phase == Phase::forward || kernel.phase == Phase::backward;
  }
  // Of the part of a micro-batch. The executor's own time remains.
  double seconds_of_part(const ReplicaKernel& kernel) const {
    if (parts_ == 1 || !is_divided(kernel)) return kernel.seconds;
    const double fixed = std::min(step_.between, kernel.seconds);
    return fixed + (kernel.seconds - fixed) / parts_;
  }

  // Kernels that wait for sums come last, in the order of the buckets: a plan of one replica
  // updates a parameter as soon as its gradient is there, before other gradients of its bucket.
  void set_order() {
    order_.resize(step_.kernels.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_partition(order_.begin(), order_.end(), [&](int i) {
      return step_.kernels[i].phase != Phase::update || step_.kernels[i].awaits.empty();
    });
  }

  void set_buckets() {
    std::vector<int> place(step_.kernels.size());
    for (std::size_t at = 0; at < order_.size(); ++at) place[order_[at]] = static_cast<int>(at);
    bucket_of_.assign(step_.gradients.size(), -1);
    if (cluster_.all_devices() == 1) return;
    std::vector<int64_t> turns(choice_.spec.ranges.size(), 0);
    for (const Bucket& gradients : choice_.buckets_of(step_)) {
      SimulatedBucket bucket{.gradients = gradients};
      for (const int g : gradients) {
        const ReplicaGradient& gradient = step_.gradients[g];
        bucket.elements += gradient.size.elements;
        bucket.bytes += static_cast<double>(gradient.size.bytes());
        if (gradient.made_by >= 0) bucket.ready = std::max(bucket.ready, place[gradient.made_by]);
      }
      if (bucket.elements == 0) continue;
      const std::size_t range = range_for(choice_.spec, bucket.elements, sizeof(float));
      bucket.algorithm.range = choice_.spec.ranges[range];
      if (bucket.algorithm.range.algorithm == "auto")
        bucket.algorithm.range = choose_algorithm(topology_of(cluster_), cluster_.all_devices(),
                                                  cluster_.all_processes(), bucket.bytes)
                                     .range;
      const AllReduceAlgorithm& algorithm = algorithm_named(bucket.algorithm.range.algorithm);
      if (!algorithm.is_one_node()) bucket.algorithm.turn = turns[range]++;
      bucket.algorithm.ring_order = choice_.ring_order;
      bucket.packed = gradients.size() > 1;
      bucket.overlaps =
          cluster_.all_processes() > 1 || (step_.has_queues && algorithm.is_one_node());
      buckets_.push_back(std::move(bucket));
    }
    std::ranges::stable_sort(buckets_, {}, &SimulatedBucket::ready);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (const int g : buckets_[b].gradients) bucket_of_[g] = static_cast<int>(b);
    unpacked_.assign(buckets_.size(), false);
    sums_.assign(buckets_.size(), -1);
    sort_updates();
  }

  // By the bucket that is complete last.
  void sort_updates() {
    const auto last_bucket = [&](int kernel) {
      int last = -1;
      if (step_.kernels[kernel].phase == Phase::update)
        for (const int g : step_.kernels[kernel].awaits) last = std::max(last, bucket_of_[g]);
      return last;
    };
    const auto waits = std::ranges::find_if(order_, [&](int i) { return last_bucket(i) >= 0; });
    std::stable_sort(waits, order_.end(),
                     [&](int a, int b) { return last_bucket(a) < last_bucket(b); });
  }

  // All parts but the last: their gradients are added up, and nothing is sent.
  void add_earlier_parts() {
    if (parts_ == 1) return;
    double once = 0;
    for (const ReplicaKernel& kernel : step_.kernels) {
      if (!is_divided(kernel)) continue;
      const double seconds = (parts_ - 1) * seconds_of_part(kernel);
      phases_[static_cast<std::size_t>(kernel.phase)] += seconds;
      once += seconds;
    }
    double added = 0;
    for (const ReplicaGradient& gradient : step_.gradients)
      added += adding_seconds(cluster_, static_cast<double>(gradient.size.bytes())) + step_.between;
    added *= choice_.micro_batches - step_.micro_batches;
    phases_[static_cast<std::size_t>(Phase::backward)] += added;
    add_on_all(once + added);
  }

  std::vector<int> add_on_all(double seconds, const std::vector<int>& after = {}) {
    std::vector<int> tasks;
    for (const int queue : queues_) tasks.push_back(events_.add(queue, seconds, after));
    computed_ += seconds;
    return tasks;
  }

  double packing_seconds(const SimulatedBucket& bucket) const {
    return bucket.packed ? cluster_.memory_seconds(2 * bucket.bytes) + step_.between : 0;
  }

  template <class Sum>
  void reduce(std::size_t number, const Sum& sum) {
    const SimulatedBucket& bucket = buckets_[number];
    std::vector<int> after = add_on_all(packing_seconds(bucket));
    if (number > 0) after.push_back(sums_[number - 1]);
    sums_[number] = sum(bucket, after);
    if (bucket.overlaps) return;
    unpacked_[number] = true;
    add_on_all(packing_seconds(bucket), {sums_[number]});
  }

  void unpack(int number) {
    if (number < 0 || unpacked_[number]) return;
    check(sums_[number] >= 0, "internal: a kernel waits for a sum that begins after it");
    unpacked_[number] = true;
    add_on_all(packing_seconds(buckets_[number]), {sums_[number]});
  }

  const ReplicaStep& step_;
  const Cluster& cluster_;
  const ReduceChoice& choice_;
  const int parts_;
  EventSimulation events_;
  std::vector<int> queues_;  // by device
  std::vector<int> order_;   // of kernels
  std::vector<SimulatedBucket> buckets_;
  std::vector<int> bucket_of_;  // by gradient
  std::vector<bool> unpacked_;
  std::vector<int> sums_;  // the last task of each bucket's sum
  double computed_ = 0;
  std::array<double, kPhases> phases_ = {};
};

// Adds the messages of a sum, round by round. Returns the last task.
int add_rounds(EventSimulation& events, const Cluster& cluster, const BuiltAllReduce& built,
               const std::vector<int>& after) {
  constexpr int kNone = EventSimulation::kNoQueue;
  int last = events.add(kNone, 0, after);
  for (const BuiltRound& round : built.rounds) {
    std::vector<int> arrived{last};
    for (const SimulatedMessage& message : round.messages)
      arrived.push_back(events.add_message(kNone, message, {last}));
    const int all = events.add(kNone, 0, arrived);
    std::vector<int> added{all};
    for (const double bytes : round.added)
      if (bytes > 0) added.push_back(events.add(kNone, adding_seconds(cluster, bytes), {all}));
    last = events.add(kNone, 0, added);
  }
  return last;
}

}  // namespace

Buckets ReduceChoice::buckets_of(const ReplicaStep& step) const {
  const std::vector<GradientSize> sizes = step.sizes();
  return buckets.empty() ? pack(packing, sizes) : parse_buckets(buckets, sizes);
}

double ReduceChoice::wire_share() const {
  return wire == DType::undefined ? 1 : static_cast<double>(size_of(wire)) / double{sizeof(float)};
}

ReduceChoice fitted(ReduceChoice choice, const Cluster& cluster) {
  for (AllReduceRange& range : choice.spec.ranges) {
    if (range.algorithm == "auto") continue;
    const auto& most = algorithm_named(range.algorithm).most_shards;
    if (most)
      range.shards = std::min(range.shards, most(cluster.all_devices(), cluster.all_processes()));
  }
  if (static_cast<int>(choice.ring_order.size()) != cluster.per_process())
    choice.ring_order.clear();
  return choice;
}

Topology topology_of(const Cluster& cluster) {
  Topology topology;
  topology.within = cluster.link(LinkKind::within).speed;
  topology.across = cluster.link(cluster.hosts > 1 ? LinkKind::hosts : LinkKind::processes).speed;
  if (cluster.bandwidth > 0) topology.adding = cluster.bandwidth / 3;
  return topology;
}

double StepSimulator::memory(int micro_batches) const {
  const auto all = static_cast<double>(step_.memory.all());
  const double kept = std::min(step_.activations, static_cast<double>(step_.memory.arenas));
  return all - kept + kept / parts_of(step_, micro_batches);
}

const std::vector<SumRound>& StepSimulator::law_of(const AllReduceCase& which) {
  for (const auto& [known, rounds] : laws_)
    if (known == which) return rounds;
  return laws_.emplace_back(which, rounds_of(which, cluster_)).second;
}

SimulatedStep StepSimulator::run(const ReduceChoice& choice, bool each) {
  const int devices = cluster_.all_devices();
  check(!each || devices <= kMostEach, "each of ", devices,
        " devices would take too long to simulate; at most ", kMostEach,
        " are simulated one by one");
  StepTasks tasks(step_, cluster_, choice, each ? devices : 1);
  EventSimulation& events = tasks.events();
  SimulatedStep result;
  double reducing = 0;
  std::vector<std::pair<int, int>> spans;  // of sums: first and last task
  tasks.add_all([&](const SimulatedBucket& bucket, const std::vector<int>& after) {
    if (each) {
      const int first = events.add(EventSimulation::kNoQueue, 0, after);
      const BuiltAllReduce built =
          built_all_reduce(bucket.algorithm, cluster_, bucket.elements, choice.wire);
      spans.emplace_back(first, add_rounds(events, cluster_, built, {first}));
      return spans.back().second;
    }
    const std::vector<SumRound>& law = law_of(bucket.algorithm);
    const double seconds = seconds_of(law, cluster_, bucket.bytes, choice.wire_share());
    result.bytes += bytes_sent(law, bucket.bytes, choice.wire_share());
    result.messages += messages_of(law);
    reducing += seconds;
    return events.add(EventSimulation::kNoQueue, seconds, after);
  });
  events.run();
  if (each) {
    for (const auto& [first, last] : spans) reducing += events.ends(last) - events.ends(first);
    result.bytes = events.sent_bytes();
    result.messages = static_cast<double>(events.messages());
  }
  result.seconds = cluster_.seconds_of_step(events.ends(), tasks.computed(), reducing);
  result.phases = tasks.phases();
  result.phases[static_cast<std::size_t>(Phase::reduce)] = reducing;
  result.feeds = step_.feeds;
  result.exposed = std::max(0.0, result.seconds - tasks.computed());
  result.memory = memory(choice.micro_batches);
  return result;
}

}  // namespace lockstep
