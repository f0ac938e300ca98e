// Where and how this process runs.
#pragma once

#include <string>

namespace lockstep {

std::string processor();     // its model's name
std::string memory();        // of the machine: 16 GiB
std::string command_line();  // as a shell would take it
std::string date_and_time();

}  // namespace lockstep
