// SPDX-License-Identifier: Apache-2.0
// Store: a small key-value store for rendezvous, visible to all processes of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/dist/store_place.h"

namespace lockstep {

using Milliseconds = std::chrono::milliseconds;

// After a timeout, all processes name the culprit within this time.
constexpr Milliseconds kFindingOut(5000);

class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Sets the value if the key is new; true if this call set it.
  virtual bool add(const std::string& key, const std::string& value) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;
  // The time at the process that keeps the store, in nanoseconds_now(); nothing if no process keeps
  // the store.
  virtual std::optional<int64_t> now() { return std::nullopt; }
  // From now on, this connection represents the rank: if it breaks, `gone_key` is set for all.
  virtual void stand_for(int rank) { static_cast<void>(rank); }
  // Leaves after a successful run, or after a run that has reported its error.
  virtual void leave() {}

  // Waits for the key. Throws after `patience`, naming the key.
  std::string wait(const std::string& key, Milliseconds patience);
};

// The key that a store sets when it notices that a rank ended without a message.
std::string gone_key(int rank);

// One process serves the store; the others query it over a socket. Throws, naming the place, if the
// keeper cannot listen or does not answer within `patience`. A keeper that leaves a query
// unanswered that long is lost for good. The keeper leaves when all others have ended, except
// others that were silent for `patience`. Over TCP both sides must prove that they have the same
// `token`. A Unix socket needs no token: the kernel confirms that both sides are the same user.
std::unique_ptr<Store> keep_store(const StorePlace& place, Milliseconds patience,
                                  const std::string& token = "");
std::unique_ptr<Store> reach_store(const StorePlace& place, Milliseconds patience,
                                   const std::string& token = "");
bool is_kept_here(const Store& store);
int port_of(const Store& kept);  // the port chosen for port 0
// "10.0.0.7, port 29500", or port 29500 of all interfaces; "" without a port.
std::string listening_text(const Store& kept);

// A shared folder with a file for each key. It must be new for each run.
std::unique_ptr<Store> file_store(const std::string& folder);

}  // namespace lockstep
