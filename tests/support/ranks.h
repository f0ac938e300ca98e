// SPDX-License-Identifier: Apache-2.0
// Runs several processes of a run as threads of one test, each with its own connections.
#pragma once

#include <functional>
#include <string>

#include "lockstep/processes.h"
#include "runtime/dist/rendezvous.h"

namespace lockstep::testing {

// Runs body(comm) on every rank and rethrows the exception of the lowest rank. Ranks meet at
// `store`, or in a new folder.
void run_ranks(int size, const std::function<void(Comm& comm)>& body,
               Milliseconds patience = Milliseconds(60'000), const std::string& store = "");

inline constexpr const char* kTestToken = "00112233445566778899aabbccddeeff";
// Returns tcp://127.0.0.1:PORT with a port that was free a moment ago. This process and its later
// children have the token.
std::string tcp_store_here();

}  // namespace lockstep::testing
