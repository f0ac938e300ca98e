// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/store_wire.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep::store_wire {

void check_sizes(const std::string& key, const std::string& value) {
  check(key.size() <= kLongestKey, "a key of the store has at most ", kLongestKey, " bytes, not ",
        key.size(), ": '", printable(key.substr(0, 40)), "..'");
  check(value.size() <= kLongestValue, "a value of the store has at most ", kLongestValue,
        " bytes, not ", value.size(), ", for '", printable(key), "'");
}

void append(std::string& message, const std::string& part) {
  const auto length = static_cast<uint32_t>(part.size());
  message.append(reinterpret_cast<const char*>(&length), sizeof length).append(part);
}

bool take(const std::string& bytes, std::size_t& at, std::string& part, std::size_t longest) {
  uint32_t length = 0;
  if (bytes.size() - at < sizeof length) return false;
  std::memcpy(&length, bytes.data() + at, sizeof length);
  check(length <= longest, "the store received data that is not a message of Lockstep");
  if (bytes.size() - at - sizeof length < length) return false;
  part.assign(bytes, at + sizeof length, length);
  at += sizeof length + length;
  return true;
}

bool send_all(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += count;
  }
  return true;
}

}  // namespace lockstep::store_wire
