// What the keeper of a store and those who ask it send each other over TCP. A request is an
// operation, a key and a value; a reply is whether and what was found. Both sides write lengths as
// they lie in memory: all hosts of a run are little-endian.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

namespace lockstep::store_wire {

enum class Operation : char { set, add, get, stand_for, leave };

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
// Takes one part off `bytes` from `at` on; false when it is not all there yet.
bool take(const std::string& bytes, std::size_t& at, std::string& part);
// False when the connection broke, or took too long; errno says why.
bool send_all(int socket, const std::string& bytes);

}  // namespace lockstep::store_wire
