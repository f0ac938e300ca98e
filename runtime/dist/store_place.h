// SPDX-License-Identifier: Apache-2.0
// Where rank 0 serves the store: at a port of a host, or, if all processes are on one host, at a
// Unix socket named after user and job. The socket is "abstract" (unix(7)): it lies in no folder
// and vanishes with its process. Both ends check the other's user.
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
// Empty for a folder. Throws for an invalid place.
std::optional<StorePlace> store_place_of(const std::string& store);

std::string folder_of_store(const std::string& store);

// Listens for accept_at. If the host is "" or none of this machine's addresses, as behind NAT, it
// listens on all of them. A host name that means loopback here, as a host's own often does, does
// not count as an address for others. Throws naming the place and the error.
store_wire::Socket listen_at(const StorePlace& place);
// An empty Socket if nobody answers; `why` says what is wrong. Connecting, and later sending and
// receiving, time out after `patience`.
store_wire::Socket connect_to(const StorePlace& place, std::chrono::milliseconds patience,
                              std::string& why);
// The next connection to `listening`. Connections of other users over a Unix socket are closed. If
// there is none, errno says why; EPERM: it was closed. The socket is non-blocking.
store_wire::Socket accept_at(const store_wire::Socket& listening);
// The port chosen for port 0; 0 for a Unix socket.
int port_of(const store_wire::Socket& listening);
std::string listening_text(const store_wire::Socket& listening);

}  // namespace lockstep
