// Store: where the processes of a run find each other. A few small texts under names, seen by all.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "runtime/dist/store_place.h"

namespace lockstep {

using Milliseconds = std::chrono::milliseconds;

// When the patience of a run is over, all know within this time whom to blame.
constexpr Milliseconds kFindingOut(5000);

class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Only where there is none yet; tells whether it was this call that set it.
  virtual bool add(const std::string& key, const std::string& value) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;
  // From now on this connection stands for that rank: when it breaks, `gone` says so to all.
  virtual void stand_for(int rank) { static_cast<void>(rank); }
  // The end of a run that went well, or that has said what went wrong.
  virtual void leave() {}

  // Waits until it is there; throws naming the key when `patience` is over.
  std::string wait(const std::string& key, Milliseconds patience);
};

// "ended without a word": set by a store that notices it.
std::string gone_key(int rank);

// One process keeps the store, the others ask it over a socket. Throws naming the place when it
// cannot listen, or when nobody answers within `patience`. A keeper that leaves any one question
// unanswered for so long is lost for good. It leaves itself when all others have ended, but for
// those that have been silent for so long.
// Over TCP nobody is let in, or believed, who does not prove that he has the same `token`; over a
// Unix socket the kernel says that he is the same user, and there is none.
std::unique_ptr<Store> keep_store(const StorePlace& place, Milliseconds patience,
                                  const std::string& token = "");
std::unique_ptr<Store> reach_store(const StorePlace& place, Milliseconds patience,
                                   const std::string& token = "");
bool is_kept_here(const Store& store);
int port_of(const Store& kept);  // which was chosen for port 0
// "10.0.0.7, port 29500", or port 29500 of all interfaces; "" where it is at no port.
std::string listening_text(const Store& kept);

// A folder that all processes see: a file for each key. It must be new for each run.
std::unique_ptr<Store> file_store(const std::string& folder);

}  // namespace lockstep
