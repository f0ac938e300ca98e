// SPDX-License-Identifier: Apache-2.0
// Several processes of one run: how a process joins the others, and the messages that kernels
// exchange. Both sides identify a message by the same number.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

// Another process of the run was killed, stopped or cut off. A process that ends by its own error
// is not lost: its error is reported instead.
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

// The times of a message, in nanoseconds of the steady clock of this host.
struct MessageSpan {
  int peer = 0;  // the other rank
  uint64_t number = 0;
  // Of the messages with this number from one rank to the other, since they are connected: equal
  // for both ends of a message, whether they were recorded or not.
  uint64_t turn = 0;
  bool sends = false;  // true: sent to the peer
  std::size_t bytes = 0;
  int64_t starts = 0;           // Transfer::start() was called
  int64_t waits = 0, ends = 0;  // Transfer::wait() was called, and returned
};

// Device-specific links to the same processes, made on first use.
class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;
  // Ends all pending exchanges, done or not; no exchange is possible afterwards.
  virtual void abort() = 0;
};

// This process's connections to the other processes of the run (join_world()).
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;       // the number of processes of the run
  virtual int size_here() const = 0;  // of the processes on this host, which share its cores

  // The transfer of message `number` to or from `peer`, a rank. Repeated calls return the same
  // transfer, which the Comm owns. `what` describes the message in error texts.
  virtual Transfer& sending(int peer, uint64_t number, const std::string& what) = 0;
  virtual Transfer& receiving(int peer, uint64_t number, const std::string& what) = 0;

  // Sets the step of the run that the following messages belong to.
  virtual void at_step(uint64_t step) = 0;
  // Polls `done` until it returns true, for exchanges between devices. Throws the exception of
  // `done`, or an Error if the run fails in the meantime, as Transfer::wait does.
  virtual void wait_until(const std::function<bool()>& done, const std::string& what) = 0;
  // From now on appends the times of each message that has been awaited; null: of none. Called
  // while no message is under way. The messages of `device_links` are not recorded.
  virtual void record_messages(std::vector<MessageSpan>* into) = 0;
  // A key-value store of small texts, visible to all processes.
  virtual class Store& store() = 0;
  // Makes the other processes fail with this text: the reason why this process ends.
  virtual void give_up(const std::string& why) = 0;

  std::unique_ptr<DeviceLinks> device_links;
};

// A process's rank, the number of processes, and how they find each other.
struct World {
  int rank = 0;
  int size = 1;
  // tcp://HOST:PORT or, on one host, unix://JOB, both kept by rank 0; or file://FOLDER, new for
  // each run and visible to all.
  std::string store;
  std::string address;  // this host's, as others reach it; "": detected
  // The timeout for the others to join, and for any one message.
  std::chrono::milliseconds patience{60'000};
  // If set, called on rank 0 with the address of the store, if the store listens at a port.
  void (*say)(const std::string& line) = nullptr;
};

// The world according to torchrun, `lockstep launch`, Open MPI, MPICH or Slurm; a single process
// without any of them. Processes on one host meet at a Unix socket. LOCKSTEP_STORE, LOCKSTEP_PORT,
// LOCKSTEP_JOB, LOCKSTEP_ADDRESS and LOCKSTEP_TIMEOUT (seconds) take precedence. Throws naming the
// invalid variable.
World world_of_environment();

// Joins the run, waits for all other processes and connects to them; null for a single process.
// Throws an Error naming the ranks that are missing, or the rank that is already taken.
std::unique_ptr<Comm> join_world(const World& world);

}  // namespace lockstep
