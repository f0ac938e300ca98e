// SPDX-License-Identifier: Apache-2.0
// Asynchronous devices. Work is put into queues: a queue runs its work in order, queues run
// concurrently, and events order work across queues. Only a device's folder (runtime/cuda) knows
// more.
#pragma once

#include <functional>
#include <memory>

#include "lockstep/device.h"
#include "runtime/memory.h"

namespace lockstep {

class Event {
 public:
  virtual ~Event() = default;
};

class Queue {
 public:
  virtual ~Queue() = default;
  // Copies between device memory and Accelerator::allocate_host() memory, in any direction.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  // Runs `work` on the host, in queue order. It may access host memory only; finish() rethrows its
  // exception.
  virtual void call(std::function<void()> work) = 0;
  virtual void record(Event& event) = 0;
  virtual void wait(Event& event) = 0;
  // True if all work is done. Never blocks.
  virtual bool idle() = 0;
  // Waits until all work is done; throws the queue's error.
  virtual void finish() = 0;
  // The queue's native handle; makes its device the current one.
  virtual void* native() = 0;
};

// Work recorded from queues, replayed at the price of one call.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  // The number of devices. If it is 0, all other functions throw.
  virtual int devices() const = 0;
  // Memory filled with `fill`.
  virtual Memory allocate(Device device, std::size_t bytes, std::byte fill) = 0;
  virtual Memory allocate_host(std::size_t bytes) = 0;
  // Copies at once between any two memories, without waiting for queued work.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual std::unique_ptr<Queue> queue(Device device) = 0;
  virtual std::unique_ptr<Event> event(Device device) = 0;
  // An event that also notes when a queue reaches the event, by the device's clock.
  virtual std::unique_ptr<Event> timed_event(Device device) = 0;
  // The seconds between two timed events of one device. Queues must have reached both.
  virtual double seconds_between(Event& from, Event& to) = 0;
  // Records, without running it, the work that `work` puts into `root` and into queues ordered
  // after and before it.
  virtual std::unique_ptr<Recording> record(Queue& root, const std::function<void()>& work) = 0;
};

}  // namespace lockstep
