// SPDX-License-Identifier: Apache-2.0
// Clients of the store's keeper: one query at a time over one connection.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <thread>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/store.h"
#include "runtime/dist/store_token.h"
#include "runtime/dist/store_wire.h"

namespace lockstep {
namespace {

using namespace store_wire;
using Clock = std::chrono::steady_clock;

class Asker final : public Store {
 public:
  Asker(const StorePlace& place, Milliseconds patience, const std::string& token)
      : place_(text_of(place)), patience_(std::max(patience, Milliseconds(1))) {
    const auto end = Clock::now() + patience;
    std::string why;
    for (;; std::this_thread::sleep_for(Milliseconds(50))) {
      socket_ = connect_to(place, patience_, why);
      if (socket_.get() >= 0 && (token.empty() || is_let_in(token, why))) return;
      check(Clock::now() < end, "rank 0 does not answer at ", place_, " (", why, ") after ",
            patience.count() / 1000.0, " s; is it running, and is the address right?");
    }
  }

  void set(const std::string& key, const std::string& value) override {
    ask(Operation::set, key, value);
  }
  bool add(const std::string& key, const std::string& value) override {
    return ask(Operation::add, key, value).has_value();
  }
  std::optional<std::string> get(const std::string& key) override {
    return ask(Operation::get, key, "");
  }
  std::optional<int64_t> now() override {
    const std::string text = ask(Operation::now, "", "").value_or("");
    int64_t time = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
    check(error == std::errc() && end == text.data() + text.size(), "rank 0 sent '",
          printable(text), "' as the time");
    return time;
  }
  void stand_for(int rank) override { ask(Operation::stand_for, std::to_string(rank), ""); }
  void leave() override { ask(Operation::leave, "", ""); }

 private:
  // False if the connection ended first: this process was stopped too long, or rank 0 dropped it
  // among too many unauthenticated clients.
  bool is_let_in(const std::string& token, std::string& why) {
    std::string theirs(kNonceBytes, '\0'), proved(kProofBytes, '\0');
    why = "it closed the connection";
    if (!receive_all(theirs)) return false;
    const std::string mine = random_bytes(kNonceBytes);
    if (!send_all(socket_.get(), mine + proof(token, Side::asker, theirs, mine))) return false;
    if (!receive_all(proved)) return false;
    check(proved != std::string(kProofBytes, '\0'), "rank 0, which serves the store at ", place_,
          ", has another token than this process: LOCKSTEP_TOKEN or ~/.config/lockstep/token must "
          "be the same on all hosts, and no other run may use this address");
    check(is_same(proved, proof(token, Side::keeper, theirs, mine)), "the server at ", place_,
          " does not have the run's token: it is not rank 0");
    return true;
  }

  bool receive_all(std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t count = recv(socket_.get(), bytes.data() + at, bytes.size() - at, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count;
    }
    return true;
  }

  std::optional<std::string> ask(Operation operation, const std::string& key,
                                 const std::string& value) {
    check_sizes(key, value);
    std::lock_guard lock(mutex_);
    std::string request(1, static_cast<char>(operation));
    append(request, key);
    append(request, value);
    if (!lost_.empty()) {
      // A stopped keeper reads this message when it resumes. An answer would come too late.
      if (operation != Operation::get)
        send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      fail(lost_);
    }
    if (!send_all(socket_.get(), request)) lose(errno);
    std::string reply, text;
    for (std::size_t at = 1; reply.empty() || !take(reply, at, text, kLongestValue); at = 1) {
      char bytes[65536];
      const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) lose(count == 0 ? EPIPE : errno);
      reply.append(bytes, count);
    }
    const auto found = static_cast<Found>(reply[0]);
    check(found != Found::refusal, "rank 0: ", printable(text));
    return found == Found::it ? std::optional(text) : std::nullopt;
  }

  // All ranks use the same words, since they cannot agree on a reason now.
  [[noreturn]] void lose(int error) {
    lost_ = join("rank 0, which serves the store at ", place_);
    if (error == EPIPE || error == ECONNRESET)
      lost_ += ", is gone";
    else
      lost_ += join(", has not responded for ", patience_.count() / 1000.0,
                    " s: it is stopped or unreachable");
    fail(lost_);
  }

  const std::string place_;
  const Milliseconds patience_;
  std::mutex mutex_;  // the run and its watch share one connection
  Socket socket_;
  std::string lost_;  // reason that no query is possible any more
};

}  // namespace

std::unique_ptr<Store> reach_store(const StorePlace& place, Milliseconds patience,
                                   const std::string& token) {
  check(!place.job.empty() || !token.empty(), "a store at ", place, " needs a token");
  return std::make_unique<Asker>(place, patience, token);
}

}  // namespace lockstep
