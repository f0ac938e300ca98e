// SPDX-License-Identifier: Apache-2.0
// The cost model of the algorithm `auto`. A message of n bytes takes latency + n / bandwidth
// seconds. Summing n bytes takes n / adding seconds.
#pragma once

#include "lockstep/all_reduce.h"

namespace lockstep {

// Parts of predicted times, in seconds, for a tensor of `bytes` bytes.
class Costs {
 public:
  struct Request {
    int replicas = 1, processes = 1;
    double bytes = 0;
    double shards = 1;
  };
  Costs(const Topology& topology, const Request& request)
      : topology_(topology), request_(request) {}

  double replicas() const { return request_.replicas; }
  double processes() const { return request_.processes; }
  double per_process() const { return replicas() / processes(); }
  double shards() const { return request_.shards; }
  const Link& within() const { return topology_.within; }
  const Link& across() const { return topology_.across; }
  // The slowest link between any two replicas.
  const Link& any() const { return request_.processes > 1 ? across() : within(); }

  double messages(const Link& link, double count, double bytes) const {
    return count * link.latency + bytes / link.bandwidth;
  }
  double adds(double bytes) const { return bytes / topology_.adding; }
  // Reduce-scatter and all-gather. Each of `members` sends and receives (members - 1) / members of
  // the tensor in each of the two phases, in `count` messages altogether.
  double scatter_and_gather(const Link& link, double members, double count) const;

  double ring(const Link& link, double members) const;
  double halving(const Link& link, double members) const;
  // Each replica of a process reads its piece from all other replicas and writes the sum to them.
  double shared_memory() const;
  // Each of `gatherers` receives its piece from all other replicas and sends them the sum.
  double gather(double gatherers) const { return gather(any(), replicas(), gatherers); }
  double gather_across(double gatherers) const { return gather(across(), processes(), gatherers); }
  // The replicas of a process send whole tensors to the first replica, which sends the sum back.
  double to_first_and_back() const;
  // The first replica of a process sends a whole tensor to the others.
  double from_first() const;

 private:
  double gather(const Link& link, double members, double gatherers) const;

  Topology topology_;
  Request request_;
};

}  // namespace lockstep
