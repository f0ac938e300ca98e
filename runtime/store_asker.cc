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

class Asker final : public Store {
 public:
  Asker(std::string host, int port, Milliseconds patience)
      : host_(std::move(host)), port_(port), patience_(std::max(patience, Milliseconds(1))) {
    const auto end = Clock::now() + patience;
    for (std::string why; !connect_once(why); std::this_thread::sleep_for(Milliseconds(50)))
      check(Clock::now() < end, "rank 0 does not answer at ", host_, ":", port_, " (", why,
            ") after ", patience.count() / 1000.0, " s; is it running, and the address right?");
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
  // To connect, to send and to receive takes no longer than the run is patient.
  Socket patient_socket(const addrinfo& at) const {
    Socket fresh(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{patience_.count() / 1000, patience_.count() % 1000 * 1000};
    for (int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
      setsockopt(fresh.get(), SOL_SOCKET, direction, &limit, sizeof limit);
    return fresh;
  }

  bool connect_once(std::string& why) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const int error = getaddrinfo(host_.c_str(), std::to_string(port_).c_str(), &hints, &found);
    if (error != 0) {
      why = gai_strerror(error);
      return false;
    }
    for (const addrinfo* at = found; at && socket_.get() < 0; at = at->ai_next) {
      Socket fresh = patient_socket(*at);
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
    if (!lost_.empty()) {
      // A keeper that was stopped finds what it is told when it wakes. An answer comes too late.
      if (operation != Operation::get)
        send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      fail(lost_);
    }
    if (!send_all(socket_.get(), request)) lose(errno);
    std::string reply, text;
    for (std::size_t at = 1; reply.empty() || !take(reply, at, text); at = 1) {
      char bytes[65536];
      const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) lose(count == 0 ? EPIPE : errno);
      reply.append(bytes, static_cast<std::size_t>(count));
    }
    return reply[0] == '\1' ? std::optional(text) : std::nullopt;
  }

  // The same words on all ranks, which cannot agree on them any more.
  [[noreturn]] void lose(int error) {
    lost_ = join("rank 0, which keeps the store at ", host_, ":", port_);
    if (error == EPIPE || error == ECONNRESET)
      lost_ += ", is gone";
    else
      lost_ += join(", shows no life for ", patience_.count() / 1000.0,
                    " s: it is stopped, or out of reach");
    fail(lost_);
  }

  const std::string host_;
  const int port_;
  const Milliseconds patience_;
  std::mutex mutex_;  // the run and its watch ask over one connection
  Socket socket_;
  std::string lost_;  // why nothing can be asked any more
};

}  // namespace

std::unique_ptr<Store> reach_tcp_store(const std::string& host, int port, Milliseconds patience) {
  return std::make_unique<Asker>(host, port, patience);
}

}  // namespace lockstep
