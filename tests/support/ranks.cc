// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ranks.h"

#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/store.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

void run_ranks(int size, const std::function<void(Comm& comm)>& body, Milliseconds patience,
               const std::string& store) {
  TemporaryFolder folder;
  const std::string meeting = store.empty() ? "file://" + folder.path() + "/store" : store;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<Comm> comm;
      try {
        comm = join_world({rank, size, meeting, "", patience});
        body(*comm);
      } catch (const std::exception& error) {
        errors[rank] = std::current_exception();
        if (comm) comm->give_up(error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

std::string tcp_store_here() {
  setenv("LOCKSTEP_TOKEN", kTestToken, 1);  // the token of processes that meet at the store
  const auto keeper = keep_store({"127.0.0.1"}, Milliseconds(0), kTestToken);
  return join("tcp://127.0.0.1:", port_of(*keeper));
}

}  // namespace lockstep::testing
