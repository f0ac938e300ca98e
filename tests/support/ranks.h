// Several processes of a run as threads of one test, each with its own connections.
#pragma once

#include <functional>

#include "runtime/comm.h"
#include "runtime/rendezvous.h"

namespace lockstep::testing {

// Runs body(comm) on every rank; rethrows what the first of them threw, in order of ranks.
void run_ranks(int size, const std::function<void(Comm& comm)>& body,
               Milliseconds patience = Milliseconds(60'000));

}  // namespace lockstep::testing
