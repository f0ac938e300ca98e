// SPDX-License-Identifier: Apache-2.0
#include "app/step/places.h"

#include <filesystem>
#include <string>
#include <vector>

#include "app/written_files.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// The network's files, and the files of its inputs.
std::vector<std::string> files_read(const StepRequest& request) {
  std::vector<std::string> files = files_of_model(request.network);
  std::error_code none;  // a missing folder is reported when it is read
  if (!fs::is_directory(request.inputs, none)) files.push_back(request.inputs);
  for (fs::directory_iterator at(request.inputs, none), end; !none && at != end; at.increment(none))
    files.push_back(at->path().string());
  return files;
}

void check_folder_of(const std::string& file, const char* option) {
  const fs::path folder = fs::absolute(write_place(file)).parent_path();
  std::error_code none;
  check(fs::is_directory(folder, none), option, ": cannot write '", file, "': there is no folder ",
        folder.string());
}

}  // namespace

void check_places(const StepRequest& request) {
  const bool writes = request.outputs || request.new_network || request.state;
  check(writes || request.trace.is_asked(),
        "there is nothing to write; name a folder with --outputs, a file with -o or a file with "
        "--state");
  const auto kept = [&] { return files_read(request); };
  std::error_code none;
  if (request.trace.is_asked()) {
    std::vector<std::string> others = kept();
    if (request.new_network) others.push_back(*request.new_network);
    if (request.state) others.push_back(*request.state);
    check_kept({request.trace.file}, others, "--trace");
  }
  if (request.outputs) {
    check(!request.outputs->empty(), "--outputs is empty; name a folder");
    check(!fs::exists(*request.outputs, none) || fs::is_directory(*request.outputs, none),
          "--outputs: '", *request.outputs, "' is not a folder");
  }
  if (request.new_network) {
    check_output(*request.new_network, kept);
    check_folder_of(*request.new_network, "-o");
  }
  if (!request.state) return;
  check(!request.state->empty(), "--state is empty; name a file");
  check_folder_of(*request.state, "--state");
  if (fs::exists(*request.state, none)) check_kept({*request.state}, kept(), "--state");
  if (!request.new_network) return;
  const auto place = [](const std::string& file) {
    return fs::absolute(write_place(file)).lexically_normal();
  };
  for (const std::string& file : {*request.new_network, *request.new_network + ".data"})
    check(place(file) != place(*request.state), "-o and --state would both write '", *request.state,
          "'; choose another name");
}

}  // namespace lockstep
