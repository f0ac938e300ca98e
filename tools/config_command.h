// What the commands around a CONFIG.yaml share: KEY VALUE pairs behind it, and running as one of
// several processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/comm.h"

namespace CLI {
class App;
}

namespace lockstep {

// The words that are no options, and DEVICES where --devices gave them. Not an option of CLI11's,
// which would take the brackets of a list apart. Throws, as the parser does, for unknown options.
std::vector<std::string> overrides_of(const CLI::App& command, const std::string& devices);

// Runs with a Comm to the other processes, or null; when one fails the others learn why.
int over_processes(const std::function<int(Comm*)>& run);

}  // namespace lockstep
