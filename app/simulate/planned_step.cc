// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/planned_step.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "app/simulate/engine.h"
#include "lockstep/error.h"
#include "lockstep/operators.h"
#include "operators/process/process.h"
#include "runtime/plan/step_phases.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

class PlanTasks {
 public:
  PlanTasks(const PlannedProcesses& processes, const Cluster& cluster, KernelTimes& times)
      : processes_(processes), cluster_(cluster), times_(times), events_(cluster) {}

  SimulatedStep simulate() {
    for (int rank = 0; rank < processes_.count(); ++rank) add_process(rank);
    join_messages();
    for (const auto& [number, meeting] : meetings_) add_meeting(meeting);
    events_.run();
    for (const auto& [phase, task] : of_first_) {
      const double seconds = events_.ends(task) - events_.begins(task);
      result_.phases[static_cast<std::size_t>(phase)] += seconds;
    }
    result_.phases[static_cast<std::size_t>(Phase::reduce)] = seconds_of_sums();
    double computed = result_.feeds;
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
      computed += result_.phase(phase);
    result_.seconds =
        cluster_.seconds_of_step(events_.ends(), computed, result_.phase(Phase::reduce));
    result_.exposed = std::max(0.0, result_.seconds - computed);
    result_.bytes = events_.sent_bytes();
    result_.messages = static_cast<double>(events_.messages());
    return result_;
  }

 private:
  using Line = std::tuple<int, int, int64_t>;  // from, to, number
  struct Ends {
    int send = -1, sent = -1, recv = -1;
  };
  struct Member {
    int rank, arrives, done;
    double bytes, added;
  };
  struct Span {
    int first, last;  // tasks
  };
  struct Meeting {
    bool sums = false;
    std::vector<Member> members;
  };

  int device_of(int rank, int worker) const {
    const Plan& plan = processes_.plan(rank);
    const int each = cluster_.per_process();
    return rank * each + (plan.workers[worker].communicates() ? 0 : std::min(worker, each - 1));
  }

  void add_process(int rank) {
    const Plan& plan = processes_.plan(rank);
    const TrainingModel& model = processes_.part(rank).model;
    const std::vector<Phase> phases = phases_of(plan, model);
    std::unordered_map<std::string, Node> nodes;
    for (int i = 0; i < model.step.node_count(); ++i) {
      const Node node = model.step.node(i);
      if (node.op()->exchange) nodes.emplace(node.name(), node);
    }
    std::vector<int> queues;
    for (std::size_t worker = 0; worker < plan.workers.size(); ++worker) {
      queues.push_back(events_.add_queue());
      if (plan.workers[worker].communicates()) continue;
      const double feeds = times_.feeds(plan, static_cast<int>(worker));
      events_.add(queues.back(), feeds);
      if (rank == 0 && worker == 0) result_.feeds = feeds;
    }
    std::vector<int> task_of(plan.steps.size(), -1);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const PlanStep& step = plan.steps[i];
      std::vector<int> after;
      for (const Wait& wait : step.waits)
        after.push_back(task_of[plan.workers[wait.worker].steps[wait.step]]);
      const auto node = nodes.find(step.name);
      const Op* op = plan.exchanges ? all_ops().find(kOwnDomain, step.type) : nullptr;
      check(node != nodes.end() || !op || !op->exchange, NodeName{step.name}, " (", step.type,
            "): internal: the plan has a message that the step does not have");
      task_of[i] =
          node == nodes.end()
              ? add_step(rank, plan, step, queues[step.worker], std::move(after))
              : add_exchange(rank, plan, step, node->second, queues[step.worker], std::move(after));
      if (rank > 0 || !serves_first(plan, step.worker)) continue;
      if (phases[i] == Phase::reduce)
        sums_of_first_.push_back({task_of[i], task_of[i]});
      else if (step.worker == 0)
        of_first_.emplace_back(phases[i], task_of[i]);
    }
  }

  // The first device's own worker, and the workers that exchange its values.
  static bool serves_first(const Plan& plan, int worker) {
    const Worker& one = plan.workers[worker];
    const bool is_of_all = !one.device.info().has_queues;  // a single worker for messages
    return worker == 0 ||
           (one.communicates() && (is_of_all || one.device == plan.workers[0].device));
  }

  // The time in which any sum of the first device is under way, hidden or not.
  double seconds_of_sums() const {
    std::vector<std::pair<double, double>> spans;
    for (const auto& [first, last] : sums_of_first_)
      spans.emplace_back(events_.begins(first), events_.ends(last));
    std::ranges::sort(spans);
    double seconds = 0, until = 0;
    for (const auto& [begins, ends] : spans) {
      seconds += std::max(0.0, ends - std::max(begins, until));
      until = std::max(until, ends);
    }
    return seconds;
  }

  // Without a measured time, copies and sums of replicas take the time of their link.
  int add_step(int rank, const Plan& plan, const PlanStep& step, int queue,
               std::vector<int> after) {
    const Op* op = all_ops().find(kOwnDomain, step.type);
    const bool crosses = op && (op->collective || op->copies);
    if (!crosses) return events_.add(queue, times_.of(plan, step), std::move(after));
    if (const std::optional<double> seconds = times_.measured(plan, step))
      return events_.add(queue, *seconds, std::move(after));
    const ClusterLink& link = cluster_.link(LinkKind::within);
    if (step.type == "Copy") {
      const Slot& slot = plan.slots[step.in[0]];
      const int from = device_of(rank, slot.worker), to = device_of(rank, step.worker);
      const auto bytes = static_cast<double>(slot.desc.bytes());
      if (from == to)
        return events_.add(queue, cluster_.memory_seconds(2 * bytes), std::move(after));
      return events_.add_message(queue, {from, to, LinkKind::within, bytes}, std::move(after));
    }
    const double sharing = link.shared ? step.parts : 1;  // all parts run at a time
    const auto bytes = static_cast<double>(bytes_of_tensors(plan, step));
    return events_.add(queue, 2 * link.speed.latency + sharing * bytes / link.speed.bandwidth,
                       std::move(after));
  }

  int add_exchange(int rank, const Plan& plan, const PlanStep& step, const Node& node, int queue,
                   std::vector<int> after) {
    AttributeReader attributes = node.attributes();
    const auto bytes_in = [&](const std::vector<int>& slots) {
      return slots.empty() || slots[0] < 0 ? 0.0
                                           : static_cast<double>(plan.slots[slots[0]].desc.bytes());
    };
    if (step.type == "ProcessAllReduce" || step.type == "ProcessAllGather") {
      const bool sums = step.type == "ProcessAllReduce";
      double bytes = bytes_in(step.in);
      const double added = sums ? bytes : 0;
      int64_t number = 0;
      if (sums) {
        const ProcessAllReduceAttrs attrs = read_process_all_reduce(attributes);
        number = attrs.number;
        if (attrs.wire != DType::undefined)
          bytes *= static_cast<double>(size_of(attrs.wire)) / double{sizeof(float)};
      } else {
        number = read_process_all_gather(attributes).number;
      }
      const int arrives = events_.add(queue, times_.between(), std::move(after));
      const int done = events_.add(queue, 0);
      Meeting& meeting = meetings_[number];
      meeting.sums = sums;
      meeting.members.push_back({rank, arrives, done, bytes, added});
      return done;
    }
    const auto peer = static_cast<int>(attributes.integer("peer", 0));
    const int64_t number = attributes.integer("number", 0);
    if (step.type == "Recv") {
      events_.add(queue, times_.between());
      const SimulatedMessage message{device_of(peer, 0), device_of(rank, 0),
                                     cluster_.between(device_of(peer, 0), device_of(rank, 0)),
                                     bytes_in(step.out)};
      return lines_[{peer, rank, number}].recv =
                 events_.add_message(queue, message, std::move(after));
    }
    Ends& ends = lines_[{rank, peer, number}];
    int& end = step.type == "Send" ? ends.send : ends.sent;
    return end = events_.add(queue, times_.between(), std::move(after));
  }

  // A message travels once both sides are ready for it.
  void join_messages() {
    for (const auto& [line, ends] : lines_) {
      if (ends.recv < 0) continue;
      if (ends.send >= 0) events_.wait_for(ends.recv, ends.send);
      if (ends.sent >= 0) events_.wait_for(ends.sent, ends.recv);
    }
  }

  // Each process sums a piece of all, and sends the sum to all.
  void add_meeting(const Meeting& meeting) {
    constexpr int kNone = EventSimulation::kNoQueue;
    const auto count = static_cast<double>(meeting.members.size());
    std::vector<int> all;
    for (const Member& member : meeting.members) all.push_back(member.arrives);
    const int begin = events_.add(kNone, 0, all);
    int last = begin;
    const double pieces = meeting.sums ? count : 1;
    for (int round = 0; round < (meeting.sums ? 2 : 1); ++round) {
      std::vector<int> arrived{last};
      for (const Member& from : meeting.members)
        for (const Member& to : meeting.members) {
          if (from.rank == to.rank) continue;
          const int sender = device_of(from.rank, 0), receiver = device_of(to.rank, 0);
          arrived.push_back(events_.add_message(
              kNone, {sender, receiver, cluster_.between(sender, receiver), from.bytes / pieces},
              {last}));
        }
      double added = 0;
      for (const Member& member : meeting.members)
        added = std::max(added, member.added * (count - 1) / count);
      last = events_.add(kNone, round == 0 ? adding_seconds(cluster_, added) : 0, arrived);
    }
    for (const Member& member : meeting.members) {
      events_.wait_for(member.done, last);
      if (member.rank == 0) sums_of_first_.push_back({begin, last});
    }
  }

  const PlannedProcesses& processes_;
  const Cluster& cluster_;
  KernelTimes& times_;
  EventSimulation events_;
  std::map<Line, Ends> lines_;
  std::map<int64_t, Meeting> meetings_;
  std::vector<std::pair<Phase, int>> of_first_;  // tasks of the first device, but for its sums
  std::vector<Span> sums_of_first_;
  SimulatedStep result_;
};

}  // namespace

SimulatedStep simulate_plans(const PlannedProcesses& processes, const Cluster& cluster,
                             KernelTimes& times) {
  SimulatedStep step = PlanTasks(processes, cluster, times).simulate();
  step.memory = static_cast<double>(planned_memory(processes.plan(0), 0).all());
  return step;
}

}  // namespace lockstep
