// Those who ask the keeper of the store: one question at a time, over one connection.
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "graph/error.h"
#include "runtime/store.h"
#include "runtime/store_wire.h"

namespace lockstep {
namespace {

using namespace store_wire;
using Clock = std::chrono::steady_clock;
constexpr Milliseconds kAnswer(5000);  // a keeper that takes longer is stopped or gone

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

std::unique_ptr<Store> reach_tcp_store(const std::string& host, int port, Milliseconds patience) {
  return std::make_unique<Asker>(host, port, patience);
}

}  // namespace lockstep
