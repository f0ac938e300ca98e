// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/rendezvous.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/gloo.h"
#include "runtime/dist/store_token.h"

namespace lockstep {
namespace {

std::string member_key(int rank) { return join("member/", rank); }

std::unique_ptr<Store> open_store(const World& world) {
  const std::optional<StorePlace> place = store_place_of(world.store);
  if (!place) return file_store(folder_of_store(world.store));
  const std::string token = place->job.empty() ? token_of_user(text_of(*place)) : "";
  if (world.rank > 0) return reach_store(*place, world.patience, token);
  try {
    std::unique_ptr<Store> kept = keep_store(*place, world.patience, token);
    if (world.say && place->job.empty())
      world.say(join("rank 0 serves the store ", world.store, " at ", listening_text(*kept)));
    return kept;
  } catch (const Error& error) {
    // The listener may be another process that is rank 0 of this run; meet_all() then reports it.
    std::unique_ptr<Store> other;
    try {
      other = reach_store(*place, Milliseconds(1000), token);
      if (!other->get(member_key(0))) throw error;
    } catch (const Error&) {
      throw error;
    }
    return other;
  }
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// Returns the local address that packets to `host` are sent from.
std::string address_towards(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  for (int family : {AF_INET, AF_INET6}) {
    hints.ai_family = family;
    const std::string service = std::to_string(port);
    if (getaddrinfo(host.c_str(), service.c_str(), &hints, &found) == 0) break;
  }
  check(found, "unknown host '", host, "'");
  const int probe = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool routed = connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
                      getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  close(probe);
  freeaddrinfo(found);
  char text[256] = {};
  check(routed && getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr,
                              0, NI_NUMERICHOST) == 0,
        "there is no route to '", host, "'");
  return text;
}

std::string own_address(const World& world, const std::vector<Member>& members) {
  if (!world.address.empty()) return world.address;
  const std::optional<StorePlace> place = store_place_of(world.store);
  if (place && place->job.empty()) return address_towards(place->host, place->port);
  const bool one_host = std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return member.host == members[0].host;
  });
  return one_host ? "127.0.0.1" : host_name();
}

std::vector<Member> meet_all(Store& store, const World& world) {
  const std::string mine = join(world.size, " ", getpid(), " ", host_name());
  if (!store.add(member_key(world.rank), mine)) {
    std::istringstream first(store.get(member_key(world.rank)).value_or(""));
    Member member{world.rank, "", 0};
    int size = 0;
    first >> size >> member.process >> member.host;
    fail("rank ", world.rank, " joined twice: ", printable(text_of(member)), " has already joined",
         store_place_of(world.store) ? "" : "; use a new store folder for each run");
  }
  store.stand_for(world.rank);
  std::vector<Member> members;
  constexpr int kNamed = 16;
  std::string missing;
  int absent = 0;
  const auto end = std::chrono::steady_clock::now() + world.patience;
  for (int rank = 0; rank < world.size; ++rank) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
    std::string text;
    try {
      text = store.wait(member_key(rank), std::max(left, Milliseconds(0)));
    } catch (const Error&) {
      store.get(member_key(0));  // throws the real reason if the store is gone
      if (++absent <= kNamed) missing += join(missing.empty() ? "" : ", ", rank);
      continue;
    }
    std::istringstream stream(text);
    Member& member = members.emplace_back(Member{rank, "", 0});
    int size = 0;
    stream >> size >> member.process >> member.host;
    check(size == world.size, printable(text_of(member)), " has a world size of ", size, ", rank ",
          world.rank, " of ", world.size);
  }
  check(missing.empty(), "of ", world.size, " ranks these did not join within ",
        world.patience.count() / 1000.0, " s: ", missing,
        absent > kNamed ? join(" and ", absent - kNamed, " more") : "");
  return members;
}

}  // namespace

std::unique_ptr<Comm> join_world(const World& world) {
  if (world.size == 1) return nullptr;
  std::unique_ptr<Store> store = open_store(world);
  std::vector<Member> members;
  try {
    members = meet_all(*store, world);
  } catch (const Error&) {
    if (is_kept_here(*store)) store->leave();  // lets the others get the same error
    throw;
  }
  std::string address = own_address(world, members);
  return connect_gloo(std::move(store),
                      {world.rank, std::move(members), std::move(address), world.patience});
}

}  // namespace lockstep
