// SPDX-License-Identifier: Apache-2.0
// The meeting point of a run's processes, from the variables of their launcher.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "lockstep/processes.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using Variables = std::map<std::string, std::string>;

// The world for these variables, with all other variables of launchers unset.
World world_with(const Variables& variables) {
  for (const char* name : {"RANK",
                           "WORLD_SIZE",
                           "LOCAL_WORLD_SIZE",
                           "MASTER_ADDR",
                           "MASTER_PORT",
                           "TORCHELASTIC_RUN_ID",
                           "TORCHELASTIC_RESTART_COUNT",
                           "OMPI_COMM_WORLD_RANK",
                           "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_SIZE",
                           "OMPI_MCA_ess_base_jobid",
                           "PMIX_NAMESPACE",
                           "PMI_RANK",
                           "PMI_SIZE",
                           "MPI_LOCALNRANKS",
                           "SLURM_PROCID",
                           "SLURM_NTASKS",
                           "SLURM_JOB_ID",
                           "SLURM_JOBID",
                           "SLURM_STEP_ID",
                           "SLURM_NNODES",
                           "SLURM_STEP_NUM_NODES",
                           "SLURM_STEP_NODELIST",
                           "SLURM_JOB_NODELIST",
                           "LOCKSTEP_STORE",
                           "LOCKSTEP_PORT",
                           "LOCKSTEP_JOB",
                           "LOCKSTEP_ADDRESS",
                           "LOCKSTEP_TIMEOUT"})
    unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  return world_of_environment();
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

std::string store_with(const Variables& variables, const Variables& more = {}) {
  return world_with(with(variables, more)).store;
}

TEST(Launcher, NumbersThatCannotBeAreNamed) {
  const auto with_size = [](const char* rank, const char* size) {
    return [=] { world_with({{"RANK", rank}, {"WORLD_SIZE", size}}); };
  };
  expect_error(with_size("0", "99999999999"), "WORLD_SIZE is 99999999999; at most 4096 processes");
  expect_error(with_size("4294967296", "2"), "RANK is 4294967296, but WORLD_SIZE is 2");
  expect_error(with_size("0", "two"), "WORLD_SIZE is 'two', should be an integer");
}

TEST(Launcher, NoneLeavesAProcessAlone) {
  EXPECT_EQ(world_with({}).size, 1);
  EXPECT_EQ(world_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).store, "");
}

TEST(Launcher, OfTorchrunKeepsItsPortToItself) {
  const Variables run{{"RANK", "3"},
                      {"WORLD_SIZE", "4"},
                      {"MASTER_ADDR", "a"},
                      {"MASTER_PORT", "29500"},
                      {"TORCHELASTIC_RUN_ID", "none"},
                      {"TORCHELASTIC_RESTART_COUNT", "2"},
                      {"LOCAL_WORLD_SIZE", "2"}};
  EXPECT_EQ(world_with(run).rank, 3);
  EXPECT_EQ(store_with(run), "tcp://a:29501");
  EXPECT_EQ(store_with(run, {{"LOCKSTEP_PORT", "40000"}}), "tcp://a:40000");
  const Variables here{{"LOCAL_WORLD_SIZE", "4"}};
  EXPECT_EQ(store_with(run, here), "unix://torchrun-none-29500-2");
  EXPECT_EQ(store_with(with(run, here), {{"LOCKSTEP_PORT", "40000"}}), "tcp://a:40000");
  EXPECT_EQ(store_with(with(run, here), {{"LOCKSTEP_JOB", "mine"}}), "unix://mine");
  EXPECT_EQ(store_with(with(run, here), {{"LOCKSTEP_STORE", "file:///f"}}), "file:///f");
  expect_error(
      [&] {
        store_with(run, {{"MASTER_PORT", "65535"}});
      },
      "MASTER_PORT is 65535, which torchrun itself uses", "set LOCKSTEP_PORT");
  expect_error(
      [&] {
        store_with(run, {{"LOCKSTEP_PORT", "70000"}});
      },
      "LOCKSTEP_PORT is 70000, should be a port, 1 to 65535");
}

TEST(Launcher, ByHandHasThePortThatIsSaid) {
  const Variables run{
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29777"}};
  EXPECT_EQ(store_with(run), "tcp://a:29777");
  EXPECT_EQ(store_with(run, {{"LOCAL_WORLD_SIZE", "2"}}), "unix://port-29777");
}

TEST(Launcher, OfOpenMpiNeedsNothingOnOneHostAndAnAddressOnSeveral) {
  const Variables run{{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"PMIX_NAMESPACE", "1687420929"}};
  EXPECT_EQ(store_with(run, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), "unix://mpi-1687420929");
  const Variables several = with(run, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}});
  expect_error([&] { store_with(several); }, "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say",
               "; set MASTER_ADDR, or LOCKSTEP_STORE");
  const std::string found = store_with(several, {{"MASTER_ADDR", "a"}});
  EXPECT_EQ(found.rfind("tcp://a:2", 0), 0u) << found;
  EXPECT_NE(found, store_with(several, {{"MASTER_ADDR", "a"}, {"PMIX_NAMESPACE", "1687420930"}}));
  EXPECT_EQ(store_with(several, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}}), "tcp://a:29500");
}

TEST(Launcher, OfSlurmKnowsItsHosts) {
  const Variables run{{"SLURM_PROCID", "1"},
                      {"SLURM_NTASKS", "4"},
                      {"SLURM_JOB_ID", "812"},
                      {"SLURM_STEP_ID", "3"},
                      {"SLURM_NNODES", "2"},
                      {"SLURM_STEP_NUM_NODES", "1"},
                      {"SLURM_JOB_NODELIST", "n[012-015,20],m3"}};
  EXPECT_EQ(store_with(run), "unix://slurm-812.3");
  const std::string found = store_with(run, {{"SLURM_STEP_NUM_NODES", "2"}});
  EXPECT_EQ(found.rfind("tcp://n012:2", 0), 0u) << found;
  EXPECT_EQ(store_with(run, {{"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "m3"}})
                .rfind("tcp://m3:2", 0),
            0u);
  EXPECT_EQ(store_with(run, {{"SLURM_STEP_NUM_NODES", "2"}, {"LOCKSTEP_PORT", "40000"}}),
            "tcp://n012:40000");
  // The error names missing variables of Slurm.
  expect_error(
      [&] {
        store_with({{"SLURM_PROCID", "1"},
                    {"SLURM_NTASKS", "4"},
                    {"SLURM_JOB_ID", "812"},
                    {"SLURM_STEP_ID", "3"}});
      },
      "SLURM_PROCID and SLURM_NTASKS say that this is one of several processes, but not the host "
      "of "
      "rank 0; not set: SLURM_STEP_NODELIST or SLURM_JOB_NODELIST (the names of the hosts) and "
      "SLURM_STEP_NUM_NODES or SLURM_NNODES (the number of hosts); set MASTER_ADDR, or");
  expect_error(
      [&] {
        store_with({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "1"}});
      },
      "but not the port of rank 0; not set: SLURM_JOB_ID or SLURM_JOBID (the job's name); set "
      "MASTER_PORT, or");
}

TEST(Launcher, ThatSaysNeitherHostNorPortMissesBoth) {
  expect_error(
      [] {
        store_with({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
      },
      "but not the host and port of rank 0; not set: OMPI_COMM_WORLD_LOCAL_SIZE (the number "
      "of processes on this host) and PMIX_NAMESPACE or OMPI_MCA_ess_base_jobid (the job's "
      "name); set MASTER_ADDR and MASTER_PORT, or");
  expect_error(
      [] {
        store_with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}});
      },
      "but not the port of rank 0; set MASTER_PORT, or");
}

TEST(Launcher, TheTimeoutIsANumberOfSecondsThatCanBeWaited) {
  for (const char* bad : {"0", "-1", "soon", "1000001", "3000000000", "99999999999999999999"})
    expect_error(
        [&] {
          world_with({{"LOCKSTEP_TIMEOUT", bad}});
        },
        "LOCKSTEP_TIMEOUT is '", bad, "', should be a number of seconds from 1 to 1000000");
  EXPECT_EQ(world_with({{"LOCKSTEP_TIMEOUT", "1"}}).patience, std::chrono::seconds(1));
  EXPECT_EQ(world_with({{"LOCKSTEP_TIMEOUT", "1000000"}}).patience, std::chrono::seconds(1000000));
}

}  // namespace
}  // namespace lockstep::testing
