// How a process finds its run: which rank it is, out of how many, and where the others are.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm.h"
#include "runtime/dist/store.h"

namespace lockstep {

struct World {
  int rank = 0;
  int size = 1;
  // tcp://HOST:PORT or, on one host, unix://JOB, where rank 0 keeps it, or file://FOLDER, new for
  // each run and seen by all.
  std::string store;
  std::string address;            // this host's, as others reach it; "": found out
  Milliseconds patience{60'000};  // for the others to join, and for any one message
  void (*say)(const std::string& line) = nullptr;  // where rank 0 listens, if at a port
};

// What torchrun, `lockstep launch`, Open MPI, MPICH or Slurm say of this process; alone where none
// does. Where all processes are on one host they meet at a Unix socket. LOCKSTEP_STORE,
// LOCKSTEP_PORT, LOCKSTEP_JOB, LOCKSTEP_ADDRESS and LOCKSTEP_TIMEOUT (seconds) come before what
// they say. Throws naming the variable that does not fit.
World world_of_environment();

// Joins, waits for all others and connects with them; null for a process that is alone. Throws
// naming the ranks that did not come, or the one that is there already.
std::unique_ptr<Comm> join_world(const World& world);

}  // namespace lockstep
