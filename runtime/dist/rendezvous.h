// SPDX-License-Identifier: Apache-2.0
// Rendezvous: a process's rank, the number of processes, and the addresses of the other processes.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm.h"
#include "runtime/dist/store.h"

namespace lockstep {

struct World {
  int rank = 0;
  int size = 1;
  // tcp://HOST:PORT or, on one host, unix://JOB, both served by rank 0; or file://FOLDER, new for
  // each run and visible to all processes.
  std::string store;
  std::string address;            // the address of this host for the others; "": detected
  Milliseconds patience{60'000};  // timeout for the others to join, and for a message
  void (*say)(const std::string& line) = nullptr;  // reports the address that rank 0 listens on, if
                                                   // it is a port
};

// Returns the world that torchrun, `lockstep launch`, Open MPI, MPICH or Slurm has set; a single
// process without a launcher. Processes on one host meet at a Unix socket. LOCKSTEP_STORE,
// LOCKSTEP_PORT, LOCKSTEP_JOB, LOCKSTEP_ADDRESS and LOCKSTEP_TIMEOUT (seconds) take precedence.
// Throws for an invalid variable, naming it.
World world_of_environment();

// Returns World::patience from LOCKSTEP_TIMEOUT, 1 to kMostPatience seconds, or the default.
inline constexpr int kMostPatience = 1'000'000;
Milliseconds patience_of_environment();

// Joins the run, waits for all others and connects to them; returns null for a single process.
// Throws, naming the ranks that are missing, or the rank that is already taken.
std::unique_ptr<Comm> join_world(const World& world);

}  // namespace lockstep
