// Messages between the processes of a run, as kernels see them. Two processes that name the same
// number mean the same message; nothing is looked up by text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lockstep {

// One direction to one peer: one message at a time.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Begins and returns at once. The memory is the message's until wait() has returned.
  virtual void start(void* data, std::size_t bytes) = 0;
  // Throws an Error that names who is missing and what was waited for.
  virtual void wait() = 0;
};

// What devices have of their own to the same processes. It is made when it is first needed.
class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;
  // What is under way comes to an end, done or not; nothing can be exchanged afterwards.
  virtual void abort() = 0;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int size_here() const = 0;  // processes on this host, which share its cores

  // The same one whenever they are asked for again. `what` is for people.
  virtual Transfer& sending(int peer, uint64_t number, const std::string& what) = 0;
  virtual Transfer& receiving(int peer, uint64_t number, const std::string& what) = 0;

  // For messages: what comes now belongs to this step of the run.
  virtual void at_step(uint64_t step) = 0;
  // For what devices exchange among themselves: returns when `done` says so, which it is asked time
  // and again. Throws what it threw, or, as a message's wait does, what the run failed of.
  virtual void wait_until(const std::function<bool()>& done, const std::string& what) = 0;
  // A few small texts that all see.
  virtual class Store& store() = 0;
  // Tells the others why this process ends; they end with that text.
  virtual void give_up(const std::string& why) = 0;

  std::unique_ptr<DeviceLinks> device_links;
};

}  // namespace lockstep
