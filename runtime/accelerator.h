// Devices that work behind the host's back. What one of them should do is put into a queue: a
// queue's work is done in order, queues go on beside each other, and an event orders the work of
// one behind that of another. Only a device's folder (runtime/cuda) knows more.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device.h"
#include "runtime/memory.h"

namespace lockstep {

class Event {
 public:
  virtual ~Event() = default;
};

class Queue {
 public:
  virtual ~Queue() = default;
  // Between memory of devices and of Accelerator::allocate_host(), in any direction.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  // Work of the host in its turn; it sees host memory only, and what it throws, finish() throws.
  virtual void call(std::function<void()> work) = 0;
  virtual void record(Event& event) = 0;
  virtual void wait(Event& event) = 0;
  // Whether everything is done. Never waits.
  virtual bool idle() = 0;
  // Returns when everything is done; throws what went wrong.
  virtual void finish() = 0;
  // As the kernels of its kind of device know it; its device is then the current one.
  virtual void* native() = 0;
};

// Work that was put into queues once, to be done again at the price of one call.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  // How many there are; 0 on a machine without any, where all else throws.
  virtual int devices() const = 0;
  // Full of `fill`.
  virtual Memory allocate(Device device, std::size_t bytes, std::byte fill) = 0;
  virtual Memory allocate_host(std::size_t bytes) = 0;
  // Now, from any memory to any, behind nothing that is queued.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual std::unique_ptr<Queue> queue(Device device) = 0;
  virtual std::unique_ptr<Event> event(Device device) = 0;
  // What `work` puts into `root`, and into queues that it orders behind and before it, is recorded
  // and not done.
  virtual std::unique_ptr<Recording> record(Queue& root, const std::function<void()>& work) = 0;
};

}  // namespace lockstep
