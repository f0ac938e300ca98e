// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/engine.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Flows whose ends differ by less are over at one time: their rates are quotients, which round.
constexpr double kTogether = 1e-12;

}  // namespace

int EventSimulation::add_queue() {
  last_of_queue_.push_back(-1);
  return static_cast<int>(last_of_queue_.size()) - 1;
}

int EventSimulation::add(int queue, double seconds, std::vector<int> after) {
  const int number = static_cast<int>(tasks_.size());
  if (queue != kNoQueue) {
    if (last_of_queue_[queue] >= 0) after.push_back(last_of_queue_[queue]);
    last_of_queue_[queue] = number;
  }
  tasks_.push_back({.queue = queue, .seconds = seconds, .after = std::move(after)});
  return number;
}

int EventSimulation::add_message(int queue, const SimulatedMessage& message,
                                 std::vector<int> after) {
  const int task = add(queue, cluster_.link(message.link).speed.latency, std::move(after));
  tasks_[task].message = static_cast<int>(sent_.size());
  sent_.push_back(message);
  sent_bytes_ += message.bytes;
  ++messages_;
  return task;
}

// A port has a number from its first use on.
int EventSimulation::port_of(LinkKind link, int place, bool sends) {
  const std::size_t list = 2 * static_cast<std::size_t>(link) + (sends ? 1 : 0);
  known_ports_.resize(2 * kLinkKinds);
  std::vector<int>& known = known_ports_[list];
  if (static_cast<int>(known.size()) <= place) known.resize(place + 1, -1);
  if (known[place] < 0) {
    known[place] = static_cast<int>(port_rates_.size());
    port_rates_.push_back(cluster_.link(link).speed.bandwidth);
  }
  return known[place];
}

// A bus within a host carries both directions; other ports carry one direction each.
std::vector<int> EventSimulation::ports_of(const SimulatedMessage& message) {
  const bool shared = cluster_.link(message.link).shared;
  if (shared && message.link != LinkKind::hosts)
    return {port_of(message.link, cluster_.host_of(message.from), true)};
  const auto place = [&](int device) { return shared ? cluster_.host_of(device) : device; };
  return {port_of(message.link, place(message.from), true),
          port_of(message.link, place(message.to), false)};
}

// Gives every flow its rate: the port with the least for each of its flows decides first.
void EventSimulation::share_ports() {
  std::vector<double> left = port_rates_;
  std::vector<int> users(port_rates_.size(), 0);
  for (Flow& flow : flows_) {
    flow.rate = 0;
    for (const int port : flow.ports) ++users[port];
  }
  for (std::size_t decided = 0; decided < flows_.size();) {
    double least = kNever;
    int narrowest = -1;
    for (std::size_t port = 0; port < left.size(); ++port)
      if (users[port] > 0 && left[port] / users[port] < least) {
        least = left[port] / users[port];
        narrowest = static_cast<int>(port);
      }
    for (Flow& flow : flows_) {
      if (flow.rate > 0 || std::ranges::find(flow.ports, narrowest) == flow.ports.end()) continue;
      flow.rate = least;
      ++decided;
      for (const int port : flow.ports) {
        left[port] = std::max(left[port] - least, 0.0);
        --users[port];
      }
    }
  }
}

void EventSimulation::run() {
  std::vector<int> missing(tasks_.size(), 0);
  std::vector<std::vector<int>> users(tasks_.size());
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    for (const int other : tasks_[task].after) {
      ++missing[task];
      users[other].push_back(static_cast<int>(task));
    }
  using Event = std::pair<double, int>;  // a task's own time is over
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  double now = 0;
  std::size_t done = 0;
  const auto begin = [&](int task) {
    tasks_[task].begins = now;
    events.emplace(now + tasks_[task].seconds, task);
  };
  const auto finish = [&](int task) {
    tasks_[task].ends = now;
    ++done;
    for (const int user : users[task])
      if (--missing[user] == 0) begin(user);
  };
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    if (missing[task] == 0) begin(static_cast<int>(task));
  while (!events.empty() || !flows_.empty()) {
    double next_flow = kNever;
    for (const Flow& flow : flows_) next_flow = std::min(next_flow, now + flow.left / flow.rate);
    const double next = std::min(next_flow, events.empty() ? kNever : events.top().first);
    for (Flow& flow : flows_) flow.left -= (next - now) * flow.rate;
    now = next;
    std::vector<int> over;
    std::erase_if(flows_, [&](const Flow& flow) {
      const double whole = sent_[tasks_[flow.task].message].bytes;
      const bool ends = flow.left <= kTogether * whole || now + flow.left / flow.rate <= now;
      if (ends) over.push_back(flow.task);
      return ends;
    });
    bool changes = !over.empty();
    while (!events.empty() && events.top().first <= now) {
      const int task = events.top().second;
      events.pop();
      const int message = tasks_[task].message;
      if (message < 0 || sent_[message].bytes <= 0) {
        over.push_back(task);
      } else {
        flows_.push_back({task, sent_[message].bytes, 0, ports_of(sent_[message])});
        changes = true;
      }
    }
    std::ranges::sort(over);
    for (const int task : over) finish(task);
    if (changes) share_ports();
  }
  end_ = now;
  check(done == tasks_.size(), "internal: ", tasks_.size() - done,
        " simulated tasks wait for each other");
}

}  // namespace lockstep
