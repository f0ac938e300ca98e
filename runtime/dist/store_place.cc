// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/store_place.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

using store_wire::Socket;

constexpr std::string_view kTcp = "tcp://", kUnix = "unix://", kFile = "file://";

struct UnixAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

UnixAddress unix_address(const std::string& job) {
  std::string name = join("lockstep/", getuid(), "/", job);
  UnixAddress of;
  if (name.size() + 1 > sizeof of.address.sun_path)
    name = join("lockstep/", getuid(), "/", digest(job.data(), job.size()));
  of.address.sun_family = AF_UNIX;
  name.copy(of.address.sun_path + 1, name.size());  // after a zero byte: abstract
  of.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return of;
}

// True if the peer is the same user. Always true over TCP, which cannot tell.
bool is_same_user(const Socket& socket) {
  sockaddr_storage own{};
  socklen_t own_size = sizeof own;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_size);
  if (own.ss_family != AF_UNIX) return true;
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
         other.uid == getuid();
}

void send_at_once(const Socket& socket) {  // ignored by a Unix socket
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket patient_socket(int family, std::chrono::milliseconds patience) {
  Socket fresh(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{patience.count() / 1000, patience.count() % 1000 * 1000};
  for (int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
    setsockopt(fresh.get(), SOL_SOCKET, direction, &limit, sizeof limit);
  return fresh;
}

Socket connect_to_unix(const std::string& job, std::chrono::milliseconds patience,
                       std::string& why) {
  const UnixAddress at = unix_address(job);
  Socket fresh = patient_socket(AF_UNIX, patience);
  if (connect(fresh.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0)
    why = std::strerror(errno);
  else if (!is_same_user(fresh))
    why = "another user listens there";
  else
    return fresh;
  return Socket();
}

Socket connect_to_host(const StorePlace& place, std::chrono::milliseconds patience,
                       std::string& why) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error =
      getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  if (error != 0) {
    why = gai_strerror(error);
    return Socket();
  }
  Socket connected;
  for (const addrinfo* at = found; at && connected.get() < 0; at = at->ai_next) {
    Socket fresh = patient_socket(at->ai_family, patience);
    if (connect(fresh.get(), at->ai_addr, at->ai_addrlen) == 0)
      connected = std::move(fresh);
    else
      why = std::strerror(errno);
  }
  freeaddrinfo(found);
  send_at_once(connected);
  return connected;
}

// True for a loopback address. Listens there only on request: Debian, for example, maps a host's
// own name to 127.0.1.1.
bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24U == 127;
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

bool means_loopback(const std::string& host) {
  in6_addr number{};
  return host == "localhost" || inet_pton(AF_INET, host.c_str(), &number) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

// Returns an empty socket on failure, with the reason in errno.
Socket bound_socket(const sockaddr& address, socklen_t size) {
  Socket listening(socket(address.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int off = 0, on = 1;
  if (address.sa_family == AF_INET6)
    setsockopt(listening.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (address.sa_family != AF_UNIX)
    setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  constexpr int kWaiting = 1024;
  if (bind(listening.get(), &address, size) == 0 && listen(listening.get(), kWaiting) == 0)
    return listening;
  const int reason = errno;
  listening = Socket();
  errno = reason;
  return Socket();
}

// Sets errno to EADDRNOTAVAIL if `host` is not an address of this machine.
Socket listen_at_host(const StorePlace& place) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  Socket listening;
  int reason = EADDRNOTAVAIL;
  if (getaddrinfo(place.host.c_str(), std::to_string(place.port).c_str(), &hints, &found) == 0) {
    for (const addrinfo* at = found; at && listening.get() < 0; at = at->ai_next) {
      if (is_loopback(*at->ai_addr) && !means_loopback(place.host)) continue;
      listening = bound_socket(*at->ai_addr, at->ai_addrlen);
      if (listening.get() < 0 && reason == EADDRNOTAVAIL) reason = errno;
    }
    freeaddrinfo(found);
  }
  errno = reason;
  return listening;
}

Socket listen_everywhere(int port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_any;
  six.sin6_port = htons(static_cast<uint16_t>(port));
  Socket listening = bound_socket(reinterpret_cast<const sockaddr&>(six), sizeof six);
  if (listening.get() >= 0 || errno != EAFNOSUPPORT) return listening;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  return bound_socket(reinterpret_cast<const sockaddr&>(four), sizeof four);
}

}  // namespace

std::string text_of(const StorePlace& place) {
  return place.job.empty() ? join(kTcp, place.host, ":", place.port) : join(kUnix, place.job);
}

std::optional<StorePlace> store_place_of(const std::string& store) {
  if (store.rfind(kFile, 0) == 0) return std::nullopt;
  StorePlace place;
  if (store.rfind(kUnix, 0) == 0) place.job = store.substr(kUnix.size());
  if (store.rfind(kTcp, 0) == 0) {
    const std::string rest = store.substr(kTcp.size());
    const auto colon = rest.rfind(':');
    place.host = rest.substr(0, colon);
    const char* end = rest.data() + rest.size();
    if (colon != rest.npos && std::from_chars(rest.data() + colon + 1, end, place.port).ptr != end)
      place.port = 0;
  }
  check(!place.job.empty() || (!place.host.empty() && place.port > 0 && place.port < 65536),
        "store '", store, "' should be ", kStorePlaces);
  return place;
}

std::string folder_of_store(const std::string& store) { return store.substr(kFile.size()); }

Socket listen_at(const StorePlace& place) {
  if (!place.job.empty()) {
    const UnixAddress at = unix_address(place.job);
    Socket listening = bound_socket(reinterpret_cast<const sockaddr&>(at.address), at.size);
    const int reason = errno;
    check(listening.get() >= 0, "rank 0 cannot listen at ", place, ": ", std::strerror(reason),
          reason == EADDRINUSE ? "; another run has the same name: set LOCKSTEP_JOB" : "");
    return listening;
  }
  Socket listening;
  errno = EADDRNOTAVAIL;
  if (!place.host.empty()) listening = listen_at_host(place);
  if (listening.get() < 0 && errno == EADDRNOTAVAIL) listening = listen_everywhere(place.port);
  const int reason = errno;
  check(listening.get() >= 0, "rank 0 cannot listen on port ", place.port, ": ",
        std::strerror(reason),
        reason == EADDRINUSE ? "; another run or program uses it: set LOCKSTEP_PORT or MASTER_PORT"
                             : "");
  return listening;
}

Socket connect_to(const StorePlace& place, std::chrono::milliseconds patience, std::string& why) {
  return place.job.empty() ? connect_to_host(place, patience, why)
                           : connect_to_unix(place.job, patience, why);
}

Socket accept_at(const Socket& listening) {
  Socket fresh(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fresh.get() < 0) return fresh;
  if (!is_same_user(fresh)) {
    errno = EPERM;
    return Socket();
  }
  send_at_once(fresh);
  return fresh;
}

int port_of(const Socket& listening) {
  sockaddr_in6 address{};  // its port is at the same offset as IPv4's
  socklen_t size = sizeof address;
  getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.sin6_family == AF_UNIX ? 0 : ntohs(address.sin6_port);
}

std::string listening_text(const Socket& listening) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[256] = {};
  getsockname(listening.get(), reinterpret_cast<sockaddr*>(&own), &size);
  if (own.ss_family == AF_UNIX) return "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  const std::string address = text;
  if (address == "::" || address == "0.0.0.0")
    return join("port ", port_of(listening), " of all interfaces");
  return join(address, ", port ", port_of(listening));
}

}  // namespace lockstep
