// SPDX-License-Identifier: Apache-2.0
// The rows of Ray's table of load_data.
#pragma once

#include <cstdint>

namespace lockstep::testing {

struct LoadRow {
  int64_t minibatch, replicas, rows, states;  // 0: the inputs have no states
  int64_t length, together, each, loaded, held;
};
// The columns: max_per_device_batch_size, devices, rows and sequences; T, the sequences of a
// minibatch on all devices, its rows on each device, the loaded rows, and the result of load_data.
inline constexpr LoadRow kLoadRows[] = {
    {9, 2, 21, 7, 3, 6, 9, 18, 9},
    {10, 1, 24, 6, 4, 2, 8, 24, 24},
    {6, 2, 21, 7, 3, 4, 6, 12, 6},
    {16, 4, 130, 13, 10, 4, 10, 120, 30},
    {100, 2, 1001, 0, 1, 200, 100, 1000, 500},
    {128, 1, 100, 0, 1, 100, 100, 100, 100},
    {4, 2, 7, 0, 1, 6, 3, 6, 3},
    {4, 2, 10, 0, 1, 8, 4, 8, 4},
    // Not Ray's: a sequence longer than a minibatch; three replicas, with leftover rows.
    {3, 1, 16, 4, 4, 1, 4, 16, 16},
    {6, 3, 32, 8, 4, 3, 4, 24, 8},
    {5, 3, 47, 0, 1, 15, 5, 45, 15}};

}  // namespace lockstep::testing
