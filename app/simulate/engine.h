// SPDX-License-Identifier: Apache-2.0
// A simulation by events: tasks in queues wait for each other, and messages share links.
#pragma once

#include <cstddef>
#include <vector>

#include "app/simulate/cluster.h"

namespace lockstep {

// A message takes the latency of its link, and then its bytes at the rate that its ports give it.
// Messages that use a port at one time get equal parts of its bandwidth, except the part that a
// message cannot use because of its other port: max-min fairness.
struct SimulatedMessage {
  int from = 0, to = 0;  // devices
  LinkKind link = LinkKind::within;
  double bytes = 0;
};

class EventSimulation {
 public:
  static constexpr int kNoQueue = -1;

  explicit EventSimulation(const Cluster& cluster) : cluster_(cluster) {}

  // Adds a queue, which runs its tasks one after the other in the order of their addition.
  int add_queue();
  // Adds a task that takes `seconds` once the tasks `after` are done and its queue turns to it. A
  // task without a queue waits for `after` alone. Returns the task's number.
  int add(int queue, double seconds, std::vector<int> after = {});
  // Adds a task that is over once its message has arrived.
  int add_message(int queue, const SimulatedMessage& message, std::vector<int> after = {});
  // Adds a condition to a task that exists already.
  void wait_for(int task, int other) { tasks_[task].after.push_back(other); }

  // Runs all tasks. Throws if tasks wait for each other in a circle.
  void run();

  double begins(int task) const { return tasks_[task].begins; }
  double ends(int task) const { return tasks_[task].ends; }
  double ends() const { return end_; }  // of the last task
  double sent_bytes() const { return sent_bytes_; }
  std::size_t messages() const { return messages_; }

 private:
  struct Task {
    int queue = kNoQueue;
    double seconds = 0;  // of a message: its latency
    int message = -1;
    std::vector<int> after;
    double begins = 0, ends = 0;
  };
  struct Flow {
    int task = 0;
    double left = 0, rate = 0;
    std::vector<int> ports;
  };
  int port_of(LinkKind link, int place, bool sends);
  std::vector<int> ports_of(const SimulatedMessage& message);
  void share_ports();

  Cluster cluster_;
  std::vector<Task> tasks_;
  std::vector<SimulatedMessage> sent_;
  std::vector<int> last_of_queue_;  // the last task added, by queue
  std::vector<Flow> flows_;         // under way
  std::vector<double> port_rates_;
  std::vector<std::vector<int>> known_ports_;  // by link and direction, by place
  double end_ = 0, sent_bytes_ = 0;
  std::size_t messages_ = 0;
};

}  // namespace lockstep
