// SPDX-License-Identifier: Apache-2.0
// The place where rank 0 serves the store: a port of a host or, if all processes are on one host, a
// Unix socket named after user and job. The socket is "abstract" (unix(7)): it is in no folder and
// vanishes with its process. Both ends check the user of the other end.
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
std::string text_of(const StorePlace& place);  // in the form of LOCKSTEP_STORE
// Returns nothing for a folder. Throws for an invalid place.
std::optional<StorePlace> store_place_of(const std::string& store);

std::string folder_of_store(const std::string& store);

// Listens for accept_at(). If the host is "" or not an address of this machine, as behind NAT,
// listens on all addresses. A host name that means loopback here, as a host's own name often does,
// does not count as an address for others. Throws, naming the place and the error.
store_wire::Socket listen_at(const StorePlace& place);
// Returns an empty Socket if nobody answers; `why` gets the reason. Connecting, sending and
// receiving time out after `patience`.
store_wire::Socket connect_to(const StorePlace& place, std::chrono::milliseconds patience,
                              std::string& why);
// Returns the next connection to `listening`. Closes connections of other users over a Unix socket.
// If there is no connection, errno has the reason; EPERM: closed. The socket is non-blocking.
store_wire::Socket accept_at(const store_wire::Socket& listening);
// Returns the port chosen for port 0; 0 for a Unix socket.
int port_of(const store_wire::Socket& listening);
std::string listening_text(const store_wire::Socket& listening);

}  // namespace lockstep
