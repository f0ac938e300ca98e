// SPDX-License-Identifier: Apache-2.0
// The store's keeper: a separate thread answers the other processes. It never blocks on a client:
// it buffers unsent replies, and does not read from a connection until they are sent.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/store.h"
#include "runtime/dist/store_token.h"
#include "runtime/dist/store_wire.h"
#include "runtime/nanoseconds.h"

namespace lockstep {
namespace {

using namespace store_wire;
using Clock = std::chrono::steady_clock;

constexpr Milliseconds kProving(1000);   // timeout for a client to authenticate
constexpr std::size_t kStrangers = 128;  // the limit of unauthenticated clients; beyond it the
                                         // oldest is dropped
constexpr std::size_t kMembers = 16384;
constexpr int kAcceptedAtOnce = 64;  // per round, so that others are answered in between

// The store's texts.
class Texts {
 public:
  void set(const std::string& key, const std::string& value) { put(key, value, true); }
  bool add(const std::string& key, const std::string& value) { return put(key, value, false); }
  std::optional<std::string> get(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  // True if the value was set.
  bool put(const std::string& key, const std::string& value, bool anew) {
    check_sizes(key, value);
    constexpr std::size_t kAround = 128;  // approximate overhead of an entry: the map and two
                                          // strings
    std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found != values_.end() && !anew) return false;
    const std::size_t before =
        found == values_.end() ? 0 : key.size() + found->second.size() + kAround;
    const std::size_t bytes = bytes_ - before + key.size() + value.size() + kAround;
    check(bytes <= kMostBytes, "the store is full: '", printable(key), "' would make it ", bytes,
          " bytes, of ", kMostBytes);
    values_[key] = value;
    bytes_ = bytes;
    return true;
  }

  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
};

class Keeper final : public Store {
 public:
  Keeper(const StorePlace& place, Milliseconds patience, std::string token)
      : listening_(listen_at(place)), patience_(patience), token_(std::move(token)) {
    server_ = std::thread([this] { serve(); });
  }
  ~Keeper() override {
    stop_ = true;
    server_.join();
  }

  const Socket& listening() const { return listening_; }
  void set(const std::string& key, const std::string& value) override { texts_.set(key, value); }
  bool add(const std::string& key, const std::string& value) override {
    return texts_.add(key, value);
  }
  std::optional<std::string> get(const std::string& key) override { return texts_.get(key); }
  std::optional<int64_t> now() override { return nanoseconds_now(); }
  // Waits, since others may still read the reason that the run ended, or the rank they wait for.
  void leave() override {
    for (const auto end = Clock::now() + patience_ + kFindingOut;
         awaited_ > 0 && Clock::now() < end;)
      std::this_thread::sleep_for(Milliseconds(5));
  }

 private:
  struct Client {
    Socket socket;
    std::string nonce;  // the challenge it must answer; "" for a member
    std::string in = "", out = "";
    int rank = -1;  // the rank it represents, until it leaves
    Clock::time_point heard = Clock::now();
  };
  using Clients = std::vector<Client>;

  void serve() {
    while (!stop_) {
      std::vector<pollfd> waiting{{listening_.get(), POLLIN, 0}};
      for (const Clients* clients : {&members_, &strangers_})
        for (const Client& client : *clients)
          waiting.push_back(
              {client.socket.get(), static_cast<short>(client.out.empty() ? POLLIN : POLLOUT), 0});
      // Read before poll(), so that messages that came while this process was stopped count as in
      // time.
      const auto now = Clock::now();
      if (poll(waiting.data(), waiting.size(), 20) < 0) continue;
      const std::size_t members = members_.size(), strangers = strangers_.size();
      for (std::size_t i = members; i-- > 0;) {
        Client& client = members_[i];
        const bool stuck = !client.out.empty() && now - client.heard > patience_;
        if (waiting[1 + i].revents != 0 ? !serve_member(client) : stuck) drop_member(i);
      }
      for (std::size_t i = strangers; i-- > 0;)
        if (waiting[1 + members + i].revents != 0) hear_stranger(i);
      std::erase_if(strangers_,
                    [&](const Client& client) { return now - client.heard > kProving; });
      if (waiting[0].revents != 0) let_in();
      awaited_ = std::count_if(members_.begin(), members_.end(), [&](const Client& client) {
        return now - client.heard < patience_;
      });
    }
  }

  void let_in() {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      Socket fresh = accept_at(listening_);
      if (fresh.get() < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) make_room();
        if (errno == EPERM || errno == ECONNABORTED || errno == EINTR) continue;
        return;
      }
      if (token_.empty()) {
        if (members_.size() < kMembers) members_.push_back({std::move(fresh), ""});
        continue;
      }
      if (strangers_.size() >= kStrangers) strangers_.erase(strangers_.begin());
      Client& client = strangers_.emplace_back(Client{std::move(fresh), random_bytes(kNonceBytes)});
      // The first bytes always fit. If sending fails, this client will not authenticate anyway.
      send(client.socket.get(), client.nonce.data(), client.nonce.size(),
           MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }

  // Called without free file descriptors: drops all unauthenticated clients, or waits if there are
  // none.
  void make_room() {
    if (strangers_.empty()) std::this_thread::sleep_for(Milliseconds(10));
    strangers_.clear();
  }

  // Reads from an unauthenticated client. The client becomes a member, stays unauthenticated until
  // it has sent everything, or is dropped.
  void hear_stranger(std::size_t number) {
    Client& client = strangers_[number];
    char bytes[kNonceBytes + kProofBytes];
    const ssize_t count =
        recv(client.socket.get(), bytes, sizeof bytes - client.in.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count > 0) client.in.append(bytes, count);
    if (count > 0 && client.in.size() < sizeof bytes) return;
    if (count > 0 && members_.size() < kMembers) {
      const auto theirs = std::string_view(client.in).substr(0, kNonceBytes);
      const bool known = is_same(proof(token_, Side::asker, client.nonce, theirs),
                                 std::string_view(client.in).substr(kNonceBytes));
      client.out = known ? proof(token_, Side::keeper, client.nonce, theirs)
                         : std::string(kProofBytes, '\0');
      if (flush(client) && known) {
        client.in.clear();
        client.heard = Clock::now();
        members_.push_back(std::move(client));
      }
    }
    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(number));
  }

  void drop_member(std::size_t number) {
    if (const int rank = members_[number].rank; rank >= 0)
      texts_.set(gone_key(rank), "its connection to rank 0 broke");
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(number));
  }

  // Serves a member. False if the connection has ended or the message is malformed.
  bool serve_member(Client& client) {
    if (!client.out.empty()) {
      if (!flush(client)) return false;
    } else {
      char bytes[65536];
      const ssize_t count = recv(client.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
      if (count <= 0) return false;
      client.in.append(bytes, count);
      client.heard = Clock::now();
    }
    try {
      while (client.out.empty() && answer(client))
        if (!flush(client)) return false;
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  // Sends as much as possible. False if the connection broke.
  static bool flush(Client& client) {
    while (!client.out.empty()) {
      const ssize_t count = send(client.socket.get(), client.out.data(), client.out.size(),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return true;
      if (count <= 0) return false;
      client.out.erase(0, count);
      client.heard = Clock::now();
    }
    return true;
  }

  // Answers a request. False if no complete request has arrived. Throws for a malformed request.
  bool answer(Client& client) {
    std::size_t at = 1;
    std::string key, value;
    if (client.in.empty() || !take(client.in, at, key, kLongestKey) ||
        !take(client.in, at, value, kLongestValue))
      return false;
    const auto operation = static_cast<Operation>(client.in[0]);
    client.in.erase(0, at);
    std::optional<std::string> found("");
    Found how = Found::it;
    try {
      found = done(client, operation, key, value);
      if (!found) how = Found::nothing;
    } catch (const Error& refusal) {
      found = refusal.what();
      how = Found::refusal;
    }
    client.out.assign(1, static_cast<char>(how));
    append(client.out, found.value_or(""));
    return true;
  }

  std::optional<std::string> done(Client& client, Operation operation, const std::string& key,
                                  const std::string& value) {
    switch (operation) {
      case Operation::set:
        texts_.set(key, value);
        return "";
      case Operation::add:
        return texts_.add(key, value) ? std::optional("") : std::nullopt;
      case Operation::get:
        return texts_.get(key);
      case Operation::stand_for:
        client.rank = -1;
        if (const auto [end, error] =
                std::from_chars(key.data(), key.data() + key.size(), client.rank);
            error != std::errc() || end != key.data() + key.size() || client.rank < 0)
          fail("'", printable(key), "' is not a rank");
        return "";
      case Operation::leave:
        client.rank = -1;
        return "";
      case Operation::now:
        return std::to_string(nanoseconds_now());
    }
    fail("the store has no operation ", static_cast<int>(operation));
  }

  Texts texts_;
  Socket listening_;
  const Milliseconds patience_;
  const std::string token_;      // "": no authentication
  Clients members_, strangers_;  // used by the serving thread only
  std::atomic<std::ptrdiff_t> awaited_{0};
  std::atomic<bool> stop_{false};
  std::thread server_;
};

}  // namespace

std::unique_ptr<Store> keep_store(const StorePlace& place, Milliseconds patience,
                                  const std::string& token) {
  check(!place.job.empty() || !token.empty(), "a store at ", place, " needs a token");
  return std::make_unique<Keeper>(place, patience, token);
}

bool is_kept_here(const Store& store) { return dynamic_cast<const Keeper*>(&store) != nullptr; }

int port_of(const Store& kept) {
  const auto* keeper = dynamic_cast<const Keeper*>(&kept);
  return keeper ? port_of(keeper->listening()) : 0;
}

std::string listening_text(const Store& kept) {
  const auto* keeper = dynamic_cast<const Keeper*>(&kept);
  return keeper ? listening_text(keeper->listening()) : "";
}

}  // namespace lockstep
