// SPDX-License-Identifier: Apache-2.0
// The machine and command line of this process.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep {

std::string processor();     // the model name
std::string memory();        // of the machine: 16 GiB
std::string command_line();  // quoted for a shell
std::string date_and_time();

// Of this process, in bytes: the most so far, and now.
std::size_t peak_memory();
std::size_t resident_memory();

}  // namespace lockstep
