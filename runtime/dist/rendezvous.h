// SPDX-License-Identifier: Apache-2.0
// Rendezvous: a process's rank, the number of processes, and the addresses of the others.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm.h"
#include "runtime/dist/store.h"

namespace lockstep {

struct World {
  int rank = 0;
  int size = 1;
  // tcp://HOST:PORT or, on one host, unix://JOB, both kept by rank 0; or file://FOLDER, new for
  // each run and visible to all.
  std::string store;
  std::string address;            // this host's, as others reach it; "": detected
  Milliseconds patience{60'000};  // timeout for the others to join, and for any one message
  void (*say)(const std::string& line) = nullptr;  // reports where rank 0 listens, if at a port
};

// The world according to torchrun, `lockstep launch`, Open MPI, MPICH or Slurm; a single process
// without any of them. Processes on one host meet at a Unix socket. LOCKSTEP_STORE, LOCKSTEP_PORT,
// LOCKSTEP_JOB, LOCKSTEP_ADDRESS and LOCKSTEP_TIMEOUT (seconds) take precedence. Throws naming the
// invalid variable.
World world_of_environment();

// World::patience by LOCKSTEP_TIMEOUT, from 1 to kMostPatience seconds, or the usual one.
inline constexpr int kMostPatience = 1'000'000;
Milliseconds patience_of_environment();

// Joins, waits for all others and connects to them; null for a single process. Throws naming the
// ranks that are missing, or the rank that is already taken.
std::unique_ptr<Comm> join_world(const World& world);

}  // namespace lockstep
