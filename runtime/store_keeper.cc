// The process that keeps the store: a thread of its own answers the others.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "graph/error.h"
#include "runtime/store.h"
#include "runtime/store_wire.h"

namespace lockstep {
namespace {

using namespace store_wire;
using Clock = std::chrono::steady_clock;

// The texts themselves.
class Texts {
 public:
  void set(const std::string& key, const std::string& value) {
    std::lock_guard lock(mutex_);
    values_[key] = value;
  }
  bool add(const std::string& key, const std::string& value) {
    std::lock_guard lock(mutex_);
    return values_.emplace(key, value).second;
  }
  std::optional<std::string> get(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

class Keeper final : public Store {
 public:
  Keeper(const StorePlace& place, Milliseconds patience)
      : listening_(listen_at(place)), patience_(patience) {
    server_ = std::thread([this] { serve(); });
  }
  ~Keeper() override {
    stop_ = true;
    server_.join();
  }

  int port() const { return port_of(listening_); }
  void set(const std::string& key, const std::string& value) override { texts_.set(key, value); }
  bool add(const std::string& key, const std::string& value) override {
    return texts_.add(key, value);
  }
  std::optional<std::string> get(const std::string& key) override { return texts_.get(key); }
  // The others may still want to read why the run ended, or to find out whom they wait for.
  void leave() override {
    for (const auto end = Clock::now() + patience_ + kFindingOut;
         awaited_ > 0 && Clock::now() < end;)
      std::this_thread::sleep_for(Milliseconds(5));
  }

 private:
  struct Client {
    Socket socket;
    std::string bytes;
    int rank = -1;  // whom it stands for, until it leaves
    Clock::time_point heard = Clock::now();
  };

  void serve() {
    while (!stop_) {
      std::vector<pollfd> waiting{{listening_.get(), POLLIN, 0}};
      for (const Client& client : clients_) waiting.push_back({client.socket.get(), POLLIN, 0});
      // Taken before, so that what came while this process itself was stopped is heard in time.
      const auto now = Clock::now();
      if (poll(waiting.data(), waiting.size(), 20) < 0) continue;
      for (std::size_t i = clients_.size(); i-- > 0;)
        if (waiting[i + 1].revents != 0 && !read(clients_[i]))
          clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
      if ((waiting[0].revents & POLLIN) != 0) {
        Socket fresh = accept_at(listening_);
        if (fresh.get() >= 0) clients_.push_back({std::move(fresh), "", -1});
      }
      awaited_ = std::count_if(clients_.begin(), clients_.end(), [&](const Client& client) {
        return now - client.heard < patience_;
      });
    }
  }

  // False when the connection has ended.
  bool read(Client& client) {
    char bytes[65536];
    const ssize_t count = recv(client.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0) {
      if (client.rank >= 0) texts_.set(gone_key(client.rank), "its connection to rank 0 broke");
      return false;
    }
    client.bytes.append(bytes, static_cast<std::size_t>(count));
    client.heard = Clock::now();
    try {
      while (answer(client)) continue;
    } catch (const Error&) {
      return false;  // a stranger
    }
    return true;
  }

  // False when no whole request is there.
  bool answer(Client& client) {
    std::size_t at = 1;
    std::string key, value;
    if (client.bytes.empty() || !take(client.bytes, at, key) || !take(client.bytes, at, value))
      return false;
    const auto operation = static_cast<Operation>(client.bytes[0]);
    client.bytes.erase(0, at);
    std::optional<std::string> found("");
    switch (operation) {
      case Operation::set:
        texts_.set(key, value);
        break;
      case Operation::add:
        if (!texts_.add(key, value)) found.reset();
        break;
      case Operation::get:
        found = texts_.get(key);
        break;
      case Operation::stand_for:
        client.rank = std::atoi(key.c_str());
        break;
      case Operation::leave:
        client.rank = -1;
        break;
      default:
        fail("no such operation");
    }
    std::string reply(1, found ? '\1' : '\0');
    append(reply, found.value_or(""));
    send_all(client.socket.get(), reply);
    return true;
  }

  Texts texts_;
  Socket listening_;
  const Milliseconds patience_;
  std::vector<Client> clients_;  // the serving thread's own
  std::atomic<std::ptrdiff_t> awaited_{0};
  std::atomic<bool> stop_{false};
  std::thread server_;
};

}  // namespace

std::unique_ptr<Store> keep_store(const StorePlace& place, Milliseconds patience) {
  return std::make_unique<Keeper>(place, patience);
}

bool is_kept_here(const Store& store) { return dynamic_cast<const Keeper*>(&store) != nullptr; }

int port_of(const Store& kept) {
  const auto* keeper = dynamic_cast<const Keeper*>(&kept);
  return keeper ? keeper->port() : 0;
}

}  // namespace lockstep
