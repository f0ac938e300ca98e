// What the keeper of a store and those who ask it send each other. A request is an operation, a key
// and a value; a reply is whether and what was found, or why nothing was done. Both sides write
// lengths as they lie in memory: all hosts of a run are little-endian.
//
// Over TCP both prove first that they have the run's token (store_token.h): the keeper sends its
// nonce, the asker its own and its proof, the keeper its proof, or zeros, which refuse.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

namespace lockstep::store_wire {

enum class Operation : char { set, add, get, stand_for, leave };
enum class Found : char { nothing, it, refusal };

// Of what a store holds, and of what one message can make it hold on the way.
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kLongestValue = std::size_t{1} << 20U;  // addresses of 7,000 ranks
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
// Throws naming the key, and what is too long.
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
// Takes one part off `bytes` from `at` on; false when it is not all there yet. Throws when it says
// that it is longer than `longest`.
bool take(const std::string& bytes, std::size_t& at, std::string& part, std::size_t longest);
// False when the connection broke, or took too long; errno says why.
bool send_all(int socket, const std::string& bytes);

}  // namespace lockstep::store_wire
