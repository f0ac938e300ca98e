#include "runtime/rendezvous.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "graph/error.h"
#include "runtime/comm_gloo.h"

namespace lockstep {
namespace {

constexpr const char* kTcp = "tcp://";
constexpr const char* kFile = "file://";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int64_t number_in(const char* name) {
  const std::string text = variable(name);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= 0, name, " is '", text,
        "', should be a whole number");
  return value;
}

struct Launcher {
  const char* rank;
  const char* size;
};
constexpr Launcher kLaunchers[] = {{"RANK", "WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}};

// The first of Slurm's nodes: n[012-015,20],m3 begins with n012.
std::string first_node(const std::string& nodes) {
  const auto bracket = nodes.find('[');
  const auto comma = nodes.find(',');
  if (bracket == nodes.npos || comma < bracket) return nodes.substr(0, comma);
  return nodes.substr(0, bracket) +
         nodes.substr(bracket + 1, nodes.find_first_of(",-]", bracket) - bracket - 1);
}

std::string store_of_environment(const Launcher& launcher) {
  if (const std::string store = variable("LOCKSTEP_STORE"); !store.empty()) return store;
  std::string host = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (std::string_view(launcher.rank) == "SLURM_PROCID") {
    for (const char* nodes : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
      if (host.empty()) host = first_node(variable(nodes));
    // Jobs that share a node listen on different ports.
    if (port.empty()) port = std::to_string(20000 + number_in("SLURM_JOB_ID") % 20000);
  }
  check(!host.empty() && !port.empty(), launcher.rank, " and ", launcher.size,
        " say that this is one of several processes, but not where rank 0 is: set MASTER_ADDR and "
        "MASTER_PORT, or LOCKSTEP_STORE to tcp://HOST:PORT or file://FOLDER");
  return kTcp + host + ":" + port;
}

struct HostPort {
  std::string host;
  int port = 0;
};
HostPort host_and_port(const std::string& store) {
  const std::string rest = store.substr(std::strlen(kTcp));
  const auto colon = rest.rfind(':');
  HostPort found{rest.substr(0, colon), 0};
  if (colon != rest.npos)
    std::from_chars(rest.data() + colon + 1, rest.data() + rest.size(), found.port);
  check(!found.host.empty() && found.port > 0 && found.port < 65536, "store '", store,
        "' should be tcp://HOST:PORT or file://FOLDER");
  return found;
}

std::string member_key(int rank) { return join("member/", rank); }

std::unique_ptr<Store> open_store(const World& world) {
  if (world.store.rfind(kFile, 0) == 0) return file_store(world.store.substr(std::strlen(kFile)));
  check(world.store.rfind(kTcp, 0) == 0, "store '", world.store,
        "' should be tcp://HOST:PORT or file://FOLDER");
  const HostPort at = host_and_port(world.store);
  if (world.rank == 0) {
    try {
      return keep_tcp_store(at.port, world.patience);
    } catch (const Error& error) {
      // Perhaps it is this run's own rank 0 that listens there.
      std::unique_ptr<Store> other;
      try {
        other = reach_tcp_store(at.host, at.port, Milliseconds(1000));
        if (!other->get(member_key(0))) throw error;
      } catch (const Error&) {
        throw error;
      }
      return other;
    }
  }
  return reach_tcp_store(at.host, at.port, world.patience);
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// The address from which packets to `host` go out.
std::string address_towards(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  for (int family : {AF_INET, AF_INET6}) {
    hints.ai_family = family;
    if (!found) getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  }
  check(found, "no host is called '", host, "'");
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
        "there is no way from here to '", host, "'");
  return text;
}

std::string own_address(const World& world, const std::vector<Member>& members) {
  if (!world.address.empty()) return world.address;
  if (world.store.rfind(kTcp, 0) == 0) {
    const HostPort at = host_and_port(world.store);
    return address_towards(at.host, at.port);
  }
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
    fail("rank ", world.rank, " joins twice: ", text_of(member), " is there already",
         world.store.rfind(kFile, 0) == 0 ? "; a folder of a store is new for each run" : "");
  }
  store.stand_for(world.rank);
  std::vector<Member> members;
  std::string missing;
  const auto end = std::chrono::steady_clock::now() + world.patience;
  for (int rank = 0; rank < world.size; ++rank) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
    std::string text;
    try {
      text = store.wait(member_key(rank), std::max(left, Milliseconds(0)));
    } catch (const Error&) {
      store.get(member_key(0));  // throws what is wrong when it is the store that is gone
      missing += join(missing.empty() ? "" : ", ", rank);
      continue;
    }
    std::istringstream stream(text);
    Member& member = members.emplace_back(Member{rank, "", 0});
    int size = 0;
    stream >> size >> member.process >> member.host;
    check(size == world.size, member, " counts ", size, " processes, rank ", world.rank, " counts ",
          world.size);
  }
  check(missing.empty(), "of ", world.size, " ranks these did not join within ",
        world.patience.count() / 1000.0, " s: ", missing);
  return members;
}

}  // namespace

World world_of_environment() {
  World world;
  world.address = variable("LOCKSTEP_ADDRESS");
  if (!variable("LOCKSTEP_TIMEOUT").empty())
    world.patience = std::chrono::seconds(number_in("LOCKSTEP_TIMEOUT"));
  for (const Launcher& launcher : kLaunchers) {
    if (variable(launcher.rank).empty() || variable(launcher.size).empty()) continue;
    world.rank = static_cast<int>(number_in(launcher.rank));
    world.size = static_cast<int>(number_in(launcher.size));
    check(world.rank < world.size, launcher.rank, " is ", world.rank, ", but ", launcher.size,
          " is ", world.size);
    if (world.size > 1) world.store = store_of_environment(launcher);
    break;
  }
  return world;
}

std::unique_ptr<Comm> join_world(const World& world) {
  if (world.size == 1) return nullptr;
  std::unique_ptr<Store> store = open_store(world);
  std::vector<Member> members;
  try {
    members = meet_all(*store, world);
  } catch (const Error&) {
    if (port_of(*store) > 0) store->leave();  // the others should see the same
    throw;
  }
  std::string address = own_address(world, members);
  return connect_gloo(std::move(store),
                      {world.rank, std::move(members), std::move(address), world.patience});
}

}  // namespace lockstep
