// SPDX-License-Identifier: Apache-2.0
// The cost model behind the algorithm `auto`: a message of n bytes takes latency + n / bandwidth,
// and summing takes time too.
#pragma once

#include "builders/all_reduce/topology.h"

namespace lockstep {

// The building blocks of predicted times: seconds for a tensor of so many bytes.
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
  // Each of `members` sends and receives its share of the tensor in each of two phases, in `count`
  // messages.
  double scatter_and_gather(const Link& link, double members, double count) const;

  double ring(const Link& link, double members) const;
  double halving(const Link& link, double members) const;
  // Each of a process's replicas reads its piece from all others and writes it to all others.
  double shared_memory() const;
  // With so many gatherers: each one's port sends and receives its piece for all others.
  double gather(double gatherers) const { return gather(any(), replicas(), gatherers); }
  double gather_across(double gatherers) const { return gather(across(), processes(), gatherers); }
  // A process's replicas send whole tensors to their first one, which sends the sum back.
  double to_first_and_back() const;
  // Its first replica sends a whole tensor to the others.
  double from_first() const;

 private:
  double gather(const Link& link, double members, double gatherers) const;

  Topology topology_;
  Request request_;
};

}  // namespace lockstep
