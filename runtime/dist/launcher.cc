// SPDX-License-Identifier: Apache-2.0
// Rank and size from launchers' environment variables.
#include <charconv>
#include <cstdlib>
#include <vector>

#include "graph/limits.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/rendezvous.h"
#include "runtime/dist/store_place.h"

namespace lockstep {
namespace {

constexpr const char* kTimeoutVariable = "LOCKSTEP_TIMEOUT";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Returns the value of the first variable that is set.
std::string first_of(const std::vector<const char*>& names) {
  for (const char* name : names)
    if (std::string value = variable(name); !value.empty()) return value;
  return "";
}

int64_t number_in(const char* name) {
  const std::string text = variable(name);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= 0, name, " is '",
        printable(text), "', should be an integer");
  return value;
}

int port_in(const char* name) {
  const int64_t port = number_in(name);
  check(port > 0 && port < 65536, name, " is ", port, ", should be a port, 1 to 65535");
  return static_cast<int>(port);
}

// Derives a port from the job's name, so that jobs on one host listen on different ports.
int port_of_job(const std::string& job) {
  uint64_t number = 0;
  for (const char letter : job) number = number * 31 + static_cast<unsigned char>(letter);
  return static_cast<int>(20000 + number % 10000);
}

// Returns the first of Slurm's nodes: n[012-015,20],m3 begins with n012.
std::string first_node(const std::string& nodes) {
  const auto bracket = nodes.find('[');
  const auto comma = nodes.find(',');
  if (bracket == nodes.npos || comma < bracket) return nodes.substr(0, comma);
  return nodes.substr(0, bracket) +
         nodes.substr(bracket + 1, nodes.find_first_of(",-]", bracket) - bracket - 1);
}

bool is_torchrun() { return !variable("TORCHELASTIC_RUN_ID").empty(); }

std::string job_of_torchrun() {
  if (is_torchrun())
    return join("torchrun-", variable("TORCHELASTIC_RUN_ID"), "-", variable("MASTER_PORT"), "-",
                variable("TORCHELASTIC_RESTART_COUNT"));
  const std::string port = variable("MASTER_PORT");
  return port.empty() ? "" : "port-" + port;
}

const std::vector<const char*> kJobsOfMpi{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"};

std::string job_of_mpi() {
  const std::string job = first_of(kJobsOfMpi);
  return job.empty() ? "" : "mpi-" + job;
}

const std::vector<const char*> kJobsOfSlurm{"SLURM_JOB_ID", "SLURM_JOBID"};

std::string job_of_slurm() {
  const std::string job = first_of(kJobsOfSlurm);
  return job.empty() ? "" : join("slurm-", job, ".", variable("SLURM_STEP_ID"));
}

struct Launcher {
  const char* rank;
  const char* size;
  std::string (*job)();                 // a name unique among jobs on this host; "": unknown
  std::vector<const char*> jobs;        // variables with the job's name, besides the port's
  std::vector<const char*> size_here;   // variables with the number of ranks on this host
  std::vector<const char*> hosts = {};  // variables with the number of hosts
  std::vector<const char*> nodes = {};  // variables with the names of the hosts
};
const Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", job_of_torchrun, {}, {"LOCAL_WORLD_SIZE"}},
    {"OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     job_of_mpi,
     kJobsOfMpi,
     {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
    {"PMI_RANK", "PMI_SIZE", job_of_mpi, kJobsOfMpi, {"MPI_LOCALNRANKS"}},
    {"SLURM_PROCID",
     "SLURM_NTASKS",
     job_of_slurm,
     kJobsOfSlurm,
     {},
     {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"},
     {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}}};

bool on_one_host(const Launcher& launcher) {
  const std::string here = first_of(launcher.size_here);
  return first_of(launcher.hosts) == "1" || (!here.empty() && here == variable(launcher.size));
}

int port_for(const std::string& job) {
  if (!variable("LOCKSTEP_PORT").empty()) return port_in("LOCKSTEP_PORT");
  if (variable("MASTER_PORT").empty()) return job.empty() ? 0 : port_of_job(job);
  const int port = port_in("MASTER_PORT");
  if (!is_torchrun()) return port;
  // torchrun itself listens on MASTER_PORT.
  check(port < 65535, "MASTER_PORT is ", port,
        ", which torchrun itself uses; the store needs the next port, but there is none: set "
        "LOCKSTEP_PORT");
  return port + 1;
}

// Lists the launcher's variables that are not set and would give the host or the port of rank 0,
// with their meaning.
std::string missing_variables(const Launcher& launcher, bool host, bool port) {
  std::string text;
  const auto add = [&](const std::vector<const char*>& names, const char* what) {
    if (names.empty() || !first_of(names).empty()) return;
    text += text.empty() ? "" : " and ";
    for (std::size_t i = 0; i < names.size(); ++i) text += join(i == 0 ? "" : " or ", names[i]);
    text += join(" (", what, ")");
  };
  if (host) {
    add(launcher.nodes, "the names of the hosts");
    add(launcher.hosts, "the number of hosts");
    add(launcher.size_here, "the number of processes on this host");
  }
  if (port) add(launcher.jobs, "the job's name");
  return text;
}

[[noreturn]] void fail_without(const Launcher& launcher, bool host, bool port) {
  const std::string missing = missing_variables(launcher, host, port);
  const char* both = host && port ? " and " : "";
  fail(launcher.rank, " and ", launcher.size,
       " say that this is one of several processes, but not the ", host ? "host" : "", both,
       port ? "port" : "", " of rank 0", missing.empty() ? "" : "; not set: " + missing, "; set ",
       host ? "MASTER_ADDR" : "", both, port ? "MASTER_PORT" : "", ", or LOCKSTEP_STORE to ",
       kStorePlaces);
}

std::string store_for(const Launcher& launcher) {
  if (std::string store = variable("LOCKSTEP_STORE"); !store.empty()) return store;
  std::string job = variable("LOCKSTEP_JOB");
  if (job.empty()) job = launcher.job();
  std::string host = variable("MASTER_ADDR");
  if (on_one_host(launcher)) {
    if (!job.empty() && variable("LOCKSTEP_PORT").empty()) return text_of(StorePlace{.job = job});
    if (host.empty()) host = "127.0.0.1";
  }
  if (host.empty()) host = first_node(first_of(launcher.nodes));
  const int port = port_for(job);
  if (host.empty() || port == 0) fail_without(launcher, host.empty(), port == 0);
  return text_of(StorePlace{host, port});
}

}  // namespace

Milliseconds patience_of_environment() {
  const std::string text = variable(kTimeoutVariable);
  if (text.empty()) return World{}.patience;
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  check(error == std::errc() && end == text.data() + text.size() && seconds >= 1 &&
            seconds <= kMostPatience,
        kTimeoutVariable, " is '", printable(text), "', should be a number of seconds from 1 to ",
        kMostPatience);
  return std::chrono::seconds(seconds);
}

World world_of_environment() {
  World world;
  world.address = variable("LOCKSTEP_ADDRESS");
  world.patience = patience_of_environment();
  for (const Launcher& launcher : kLaunchers) {
    if (variable(launcher.rank).empty() || variable(launcher.size).empty()) continue;
    const int64_t rank = number_in(launcher.rank), size = number_in(launcher.size);
    check(size <= kMostReplicas, launcher.size, " is ", size, "; at most ", kMostReplicas,
          " processes are possible");
    check(rank < size, launcher.rank, " is ", rank, ", but ", launcher.size, " is ", size);
    world.rank = static_cast<int>(rank);
    world.size = static_cast<int>(size);
    if (world.size > 1) world.store = store_for(launcher);
    break;
  }
  return world;
}

}  // namespace lockstep
