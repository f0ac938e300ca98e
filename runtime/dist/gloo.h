// SPDX-License-Identifier: Apache-2.0
// Message exchange between processes over Gloo's TCP transport.
#pragma once

#include <memory>
#include <string>

#include "lockstep/processes.h"
#include "runtime/dist/store.h"
#include "runtime/dist/watch.h"

namespace lockstep {

struct GlooOptions {
  int rank = 0;
  std::vector<Member> members;
  std::string address;  // the address of this host for the others
  Milliseconds patience{0};
};

// Connects all processes pairwise.
std::unique_ptr<Comm> connect_gloo(std::unique_ptr<Store> store, const GlooOptions& options);

// Sums by Gloo's ring algorithm, as a benchmark baseline. `comm` must come from connect_gloo().
void gloo_ring_sum(Comm& comm, float* data, std::size_t count);

}  // namespace lockstep
