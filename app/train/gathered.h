// SPDX-License-Identifier: Apache-2.0
// Texts and numbers of all processes, gathered on rank 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/processes.h"

namespace lockstep {

// The distinct texts of all processes, in the order of their ranks, on rank 0; empty on other
// ranks. Without a Comm, this process's texts. `what` is for errors.
std::vector<std::string> gather_once(Comm* comm, const std::vector<std::string>& mine,
                                     const std::string& what);

// The sum over all processes on rank 0; this process's number on other ranks.
int64_t gather_sum(Comm* comm, int64_t mine, const std::string& what);

// The numbers of each rank, in rank order, exactly, on rank 0; empty on other ranks. Without a
// Comm, this process's numbers alone.
std::vector<std::vector<double>> gather_numbers(Comm* comm, const std::vector<double>& mine,
                                                const std::string& what);

}  // namespace lockstep
