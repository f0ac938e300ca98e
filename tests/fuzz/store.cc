// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/store.h"

#include <sys/socket.h>
#include <unistd.h>

#include "lockstep/error.h"
#include "runtime/dist/store_token.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {
namespace {

using namespace store_wire;

constexpr Milliseconds kPatience(5000);  // a slower keeper is broken

std::string job(const char* name) { return join("fuzz-", name, "-", getpid()); }

// A keeper, and a valid member that the keeper must always answer.
struct Kept {
  StorePlace place;
  std::string token;
  std::unique_ptr<Store> keeper, honest;

  explicit Kept(StorePlace at, std::string secret = "")
      : place(std::move(at)),
        token(std::move(secret)),
        keeper(keep_store(place, kPatience, token)) {
    if (place.job.empty()) place.port = port_of(*keeper);
    honest = reach_store(place, kPatience, token);
    honest->set("truth", "42");
  }

  // Waits until the keeper has read everything and closed the connection.
  void hears(const std::string& bytes) {
    std::string why;
    const Socket socket = connect_to(place, kPatience, why);
    expect(socket.get() >= 0);
    send_all(socket.get(), bytes);
    shutdown(socket.get(), SHUT_WR);
    char answer[4096];
    ssize_t count = 0;
    while ((count = recv(socket.get(), answer, sizeof answer, 0)) > 0) continue;
    expect(count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK));
    expect(honest->get("truth").has_value());
  }
};

// Asks a keeper that answers with `bytes`.
void ask_a_false_keeper(const std::string& bytes) {
  static const StorePlace place{.job = job("false")};
  static const Socket listening = listen_at(place);
  const auto asker = reach_store(place, kPatience);
  const Socket connection = accept_at(listening);
  expect(connection.get() >= 0);
  send_all(connection.get(), bytes);
  shutdown(connection.get(), SHUT_WR);
  asker->get("key");
}

std::string request(Operation operation, const std::string& key, const std::string& value) {
  std::string message(1, static_cast<char>(operation));
  append(message, key);
  append(message, value);
  return message;
}

}  // namespace

void read_store_messages(const std::string& bytes) {
  if (bytes.empty()) return;
  const std::string message = bytes.substr(1);
  if (bytes[0] == 'm') {  // from a member
    static Kept kept({.job = job("kept")});
    kept.hears(message);
  } else if (bytes[0] == 's') {  // from a stranger
    static Kept kept({.host = "127.0.0.1"}, std::string(32, 't'));
    kept.hears(message);
  } else {
    ask_a_false_keeper(message);
  }
}

Seeds store_seeds() {
  const auto set = request(Operation::set, "addresses", "10.0.0.7:29500"),
             add = request(Operation::add, "failed", "rank 1 ran out of memory"),
             get = request(Operation::get, "addresses", ""),
             stand = request(Operation::stand_for, "1", ""),
             leave = request(Operation::leave, "", "");
  std::string found(1, static_cast<char>(Found::it)), none(1, static_cast<char>(Found::nothing)),
      refused(1, static_cast<char>(Found::refusal));
  append(found, "10.0.0.7:29500");
  append(none, "");
  append(refused, "the store is full");
  return {"m" + set + get,   "m" + stand + add + leave,
          "m" + stand + add, "m" + set.substr(0, 9),
          "s" + set,         "s" + std::string(kNonceBytes + kProofBytes, 'x') + get,
          "a" + found,       "a" + none,
          "a" + refused};
}

}  // namespace lockstep::fuzz
