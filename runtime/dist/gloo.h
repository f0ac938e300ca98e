// Processes that exchange messages over Gloo's TCP transport.
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
  std::string address;  // of this host, as the others reach it
  Milliseconds patience{0};
};

// Connects every process with every other one.
std::unique_ptr<Comm> connect_gloo(std::unique_ptr<Store> store, const GlooOptions& options);

// Gloo's own ring, for benchmarks to measure against. `comm` is one of connect_gloo().
void gloo_ring_sum(Comm& comm, float* data, std::size_t count);

}  // namespace lockstep
