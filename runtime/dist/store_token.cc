// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/store_token.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/sha256.h"
#include "runtime/dist/store_wire.h"

namespace lockstep {
namespace {

constexpr std::size_t kTokenDigits = 32;
constexpr const char* kTokenVariable = "LOCKSTEP_TOKEN";
constexpr const char* kTokenFolder = ".config/lockstep";

// Checks the format of a token. Error texts never contain the token, because errors end up in logs.
void check_token(const std::string& token, const std::string& source) {
  const auto is_digit = [](char c) { return std::strchr("0123456789abcdefABCDEF", c) && c != 0; };
  check(token.size() == kTokenDigits && std::all_of(token.begin(), token.end(), is_digit), source,
        " should be ", kTokenDigits, " hex digits, but has ", token.size(), " characters",
        token.size() == kTokenDigits ? ", some of which are not hex digits" : "");
}

std::string in_small_letters(std::string token) {
  for (char& letter : token)
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  return token;
}

// Returns the token in a file, "" without the file.
std::string token_in(const std::string& path) {
  const store_wire::Socket file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    check(errno == ENOENT || errno == ENOTDIR, path,
          ": cannot open the file of the run's token: ", std::strerror(errno));
    return "";
  }
  struct stat what {};
  check(fstat(file.get(), &what) == 0 && S_ISREG(what.st_mode), path, " is not a regular file");
  check(what.st_uid == geteuid(), path, " belongs to user ", what.st_uid, ", not to you (",
        geteuid(), ")");
  check((what.st_mode & (S_IRWXG | S_IRWXO)) == 0, path,
        " can be read or written by other users: run chmod 600 ", shell_word(path),
        ", and create a new token if they must not know this one");
  char bytes[kTokenDigits + 64];
  const ssize_t count = read(file.get(), bytes, sizeof bytes);
  check(count >= 0, path, ": cannot read the run's token: ", std::strerror(errno));
  std::string token(bytes, count);
  while (!token.empty() && std::strchr("\r\n\t ", token.back())) token.pop_back();
  check_token(token, path);
  return token;
}

}  // namespace

std::string token_of_user(const std::string& place) {
  if (const char* value = std::getenv(kTokenVariable); value && *value != 0) {
    check_token(value, kTokenVariable);
    return in_small_letters(value);
  }
  const char* home = std::getenv("HOME");
  std::string token = home ? token_in(join(home, "/", kTokenFolder, "/token")) : "";
  check(!token.empty(), "the store at ", place,
        " requires the run's token, which this process does not have: set ", kTokenVariable, " to ",
        kTokenDigits, " hex digits, the same for all processes, or create the file ~/",
        kTokenFolder, "/token once and copy it to the other hosts, like an ssh key:  mkdir -p ~/",
        kTokenFolder, " && (umask 077; od -An -tx1 -N16 /dev/urandom | tr -d ' ' > ~/",
        kTokenFolder, "/token)");
  return in_small_letters(token);
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t at = 0; at < count;) {
    const ssize_t got = getrandom(bytes.data() + at, count - at, 0);
    if (got < 0 && errno == EINTR) continue;
    check(got > 0, "cannot get random bytes for the store: ", std::strerror(errno));
    at += got;
  }
  return bytes;
}

std::string new_token() { return hex_digits(random_bytes(kTokenDigits / 2)); }

std::string proof(const std::string& token, Side side, std::string_view keepers_nonce,
                  std::string_view askers_nonce) {
  std::string text = side == Side::keeper ? "lockstep keeper" : "lockstep asker.";
  return hmac_sha256(token, text.append(keepers_nonce).append(askers_nonce));
}

bool is_same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned differ = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differ |= static_cast<unsigned>(static_cast<unsigned char>(one[i] ^ other[i]));
  return differ == 0;
}

}  // namespace lockstep
