// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a run, as kernels see them. A message is identified by number,
// equal on both sides, never by text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "graph/error.h"

namespace lockstep {

// Another process of the run was killed, stopped or cut off. One that ends by an error of its own
// is no such loss: its error is what is wrong.
class LostRank : public Error {
 public:
  using Error::Error;
};

// A one-way channel to one peer: one message at a time.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Starts without waiting. The memory must stay untouched until wait() returns.
  virtual void start(void* data, std::size_t bytes) = 0;
  // Throws an Error that names the missing peer and the awaited message.
  virtual void wait() = 0;
};

// Device-specific links to the same processes, made on first use.
class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;
  // Ends all pending exchanges, done or not; no exchange is possible afterwards.
  virtual void abort() = 0;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int size_here() const = 0;  // processes on this host, sharing its cores

  // Repeated calls return the same transfer. `what` describes it in error texts.
  virtual Transfer& sending(int peer, uint64_t number, const std::string& what) = 0;
  virtual Transfer& receiving(int peer, uint64_t number, const std::string& what) = 0;

  // Sets the step of the run that the following messages belong to.
  virtual void at_step(uint64_t step) = 0;
  // Polls `done` until it is true, for exchanges between devices. Rethrows its exception, or the
  // run's failure, as Transfer::wait does.
  virtual void wait_until(const std::function<bool()>& done, const std::string& what) = 0;
  // A few small texts, visible to all processes.
  virtual class Store& store() = 0;
  // Tells the other processes why this one ends; they end with the same text.
  virtual void give_up(const std::string& why) = 0;

  std::unique_ptr<DeviceLinks> device_links;
};

}  // namespace lockstep
