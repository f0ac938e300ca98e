// The store over TCP. A request is an operation, a key and a value; a reply is whether and what was
// found. Both sides write lengths as they lie in memory: all hosts of a run are little-endian.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "runtime/store.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Milliseconds kAnswer(5000);     // a keeper that takes longer is stopped or gone
constexpr Milliseconds kLinger(5000);     // how long the keeper stays for the others
constexpr uint32_t kLongest = 1U << 26U;  // of a key or a value

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

void append(std::string& message, const std::string& part) {
  const auto length = static_cast<uint32_t>(part.size());
  message.append(reinterpret_cast<const char*>(&length), sizeof length).append(part);
}

// Takes one part off `bytes` from `at` on; false when it is not all there yet.
bool take(const std::string& bytes, std::size_t& at, std::string& part) {
  uint32_t length = 0;
  if (bytes.size() - at < sizeof length) return false;
  std::memcpy(&length, bytes.data() + at, sizeof length);
  check(length <= kLongest, "the store was sent something that is no message of Lockstep's");
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
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

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
  explicit Keeper(int port) : listening_(listen_on(port)) {
    sockaddr_in6 address{};
    socklen_t size = sizeof address;
    getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
    server_ = std::thread([this] { serve(); });
  }
  ~Keeper() override {
    stop_ = true;
    server_.join();
  }

  int port() const { return port_; }
  void set(const std::string& key, const std::string& value) override { texts_.set(key, value); }
  bool add(const std::string& key, const std::string& value) override {
    return texts_.add(key, value);
  }
  std::optional<std::string> get(const std::string& key) override { return texts_.get(key); }
  // The others may still want to read why the run ended.
  void leave() override {
    for (const auto end = Clock::now() + kLinger; connected_ > 0 && Clock::now() < end;)
      std::this_thread::sleep_for(Milliseconds(5));
  }

 private:
  struct Client {
    Socket socket;
    std::string bytes;
    int rank = -1;  // whom it stands for, until it leaves
  };

  static Socket listen_on(int port) {
    Socket listening(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int off = 0, on = 1;
    setsockopt(listening.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    address.sin6_port = htons(static_cast<uint16_t>(port));
    const bool bound =
        bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        listen(listening.get(), 1024) == 0;
    check(bound, "rank 0 cannot listen on port ", port, ": ", std::strerror(errno),
          "; another run may use it (MASTER_PORT)");
    return listening;
  }

  void serve() {
    while (!stop_) {
      std::vector<pollfd> waiting{{listening_.get(), POLLIN, 0}};
      for (const Client& client : clients_) waiting.push_back({client.socket.get(), POLLIN, 0});
      if (poll(waiting.data(), waiting.size(), 20) <= 0) continue;
      for (std::size_t i = clients_.size(); i-- > 0;)
        if (waiting[i + 1].revents != 0 && !read(clients_[i]))
          clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
      if ((waiting[0].revents & POLLIN) != 0) {
        Socket fresh(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const int on = 1;
        setsockopt(fresh.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (fresh.get() >= 0) clients_.push_back({std::move(fresh), "", -1});
      }
      connected_ = clients_.size();
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
  int port_ = 0;
  std::vector<Client> clients_;  // the serving thread's own
  std::atomic<std::size_t> connected_{0};
  std::atomic<bool> stop_{false};
  std::thread server_;
};

class Asker final : public Store {
 public:
  Asker(std::string host, int port, Milliseconds patience) : host_(std::move(host)), port_(port) {
    const auto end = Clock::now() + patience;
    for (std::string why; !connect_once(why); std::this_thread::sleep_for(Milliseconds(50)))
      check(Clock::now() < end, "rank 0 does not answer at ", host_, ":", port_, " (", why,
            ") after ", patience.count() / 1000.0, " s; is it running, and the address right?");
    const timeval limit{kAnswer.count() / 1000, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
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
  void stand_for(int rank) override { ask(Operation::stand_for, std::to_string(rank), ""); }
  void leave() override { ask(Operation::leave, "", ""); }

 private:
  bool connect_once(std::string& why) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const int error = getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &found);
    if (error != 0) {
      why = gai_strerror(error);
      return false;
    }
    for (const addrinfo* at = found; at && socket_.get() < 0; at = at->ai_next) {
      Socket fresh(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (connect(fresh.get(), at->ai_addr, at->ai_addrlen) == 0)
        socket_ = std::move(fresh);
      else
        why = std::strerror(errno);
    }
    freeaddrinfo(found);
    return socket_.get() >= 0;
  }

  std::optional<std::string> ask(Operation operation, const std::string& key,
                                 const std::string& value) {
    std::lock_guard lock(mutex_);
    std::string request(1, static_cast<char>(operation));
    append(request, key);
    append(request, value);
    check(send_all(socket_.get(), request), "rank 0, which keeps the store at ", host_, ":", port_,
          ", is gone");
    std::string reply, text;
    for (std::size_t at = 1; reply.empty() || !take(reply, at, text); at = 1) {
      char bytes[65536];
      const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      check(count > 0, "rank 0, which keeps the store at ", host_, ":", port_,
            count == 0 ? ", is gone" : ", does not answer (stopped, or out of reach)");
      reply.append(bytes, static_cast<std::size_t>(count));
    }
    return reply[0] == '\1' ? std::optional(text) : std::nullopt;
  }

  std::string host_;
  int port_;
  std::mutex mutex_;  // the run and its watch ask over one connection
  Socket socket_;
};

}  // namespace

std::unique_ptr<Store> keep_tcp_store(int port) { return std::make_unique<Keeper>(port); }

std::unique_ptr<Store> reach_tcp_store(const std::string& host, int port, Milliseconds patience) {
  return std::make_unique<Asker>(host, port, patience);
}

int port_of(const Store& kept) {
  const auto* keeper = dynamic_cast<const Keeper*>(&kept);
  return keeper ? keeper->port() : 0;
}

}  // namespace lockstep
