// SPDX-License-Identifier: Apache-2.0
// The protocol between the store's keeper and its clients. A request is an operation, a key and a
// value. A reply is a Found and a text: the value found, or the reason that nothing was done.
// Lengths are sent in native byte order: all hosts of a run are little-endian.
//
// Over TCP a handshake first proves that both sides have the run's token (store_token.h). The
// keeper sends its nonce, the client its nonce and its proof, the keeper its proof, or zeros as a
// refusal.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

namespace lockstep::store_wire {

enum class Operation : char { set, add, get, stand_for, leave, now };
enum class Found : char { nothing, it, refusal };

// Limits of a store's contents, and so of the bytes that one message can make it buffer.
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kLongestValue = std::size_t{1} << 20U;  // addresses of 7,000 ranks
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
// Throws, naming the key and the part that is too long.
void check_sizes(const std::string& key, const std::string& value);

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void append(std::string& message, const std::string& part);
// Reads one part of `bytes` at `at`. False if it has not arrived completely. Throws if its declared
// length exceeds `longest`.
bool take(const std::string& bytes, std::size_t& at, std::string& part, std::size_t longest);
// Returns false if the connection broke or timed out; errno has the reason.
bool send_all(int socket, const std::string& bytes);

}  // namespace lockstep::store_wire
