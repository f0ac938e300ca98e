// SPDX-License-Identifier: Apache-2.0
// Message exchange between processes over Gloo's TCP transport.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm.h"
#include "runtime/dist/store.h"
#include "runtime/dist/watch.h"

namespace lockstep {

struct GlooOptions {
  int rank = 0;
  std::vector<Member> members;
  std::string address;  // this host's, as the others reach it
  Milliseconds patience{0};
};

// Connects all processes pairwise.
std::unique_ptr<Comm> connect_gloo(std::unique_ptr<Store> store, const GlooOptions& options);

// Gloo's own ring, as a benchmark baseline. `comm` must come from connect_gloo().
void gloo_ring_sum(Comm& comm, float* data, std::size_t count);

}  // namespace lockstep
