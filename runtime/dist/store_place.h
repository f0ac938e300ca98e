// Where rank 0 keeps the store: a port of a host, or, where all processes are on one host, a Unix
// socket that is named after user and job. That lies in no folder (it is "abstract", see unix(7)):
// nothing is left of it when its process ends. Both ends look at the other's user.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/dist/store_wire.h"

namespace lockstep {

struct StorePlace {
  std::string host = "";  // TCP
  int port = 0;
  std::string job = "";  // Unix
};

inline constexpr const char* kStorePlaces = "tcp://HOST:PORT, unix://JOB or file://FOLDER";
std::string text_of(const StorePlace& place);  // as LOCKSTEP_STORE has it
// Nothing where it is a folder. Throws for what is none of them.
std::optional<StorePlace> store_place_of(const std::string& store);

std::string folder_of_store(const std::string& store);

// Takes connections for accept_at, without waiting for any. Where the host is none of this one's
// addresses, as behind a translator of addresses, or "", it listens on all of them. A name that
// stands for loopback here, as a host's own often does, is no address for others. Throws naming the
// place and what is wrong.
store_wire::Socket listen_at(const StorePlace& place);
// An empty Socket where nobody answers; `why` says what is wrong. Connecting, and later sending and
// receiving, take no longer than `patience`.
store_wire::Socket connect_to(const StorePlace& place, std::chrono::milliseconds patience,
                              std::string& why);
// Whoever came to `listening` next, but no other user over a Unix socket; such a one is sent away.
// Without anybody errno says why; EPERM: he was sent away. Reading and writing never wait.
store_wire::Socket accept_at(const store_wire::Socket& listening);
// Which was chosen for port 0; 0 of a Unix socket.
int port_of(const store_wire::Socket& listening);
std::string listening_text(const store_wire::Socket& listening);

}  // namespace lockstep
