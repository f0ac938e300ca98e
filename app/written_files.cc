// SPDX-License-Identifier: Apache-2.0
#include "app/written_files.h"

#include <filesystem>

#include "graph/external_files.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {

namespace fs = std::filesystem;

void check_kept(const std::vector<std::string>& written, const std::vector<std::string>& kept,
                const std::string& option) {
  std::error_code none;  // a missing file is no other file
  for (const std::string& file : written)
    for (const std::string& other : kept)
      check(!fs::equivalent(file, other, none), option, ": writing '", file, "' would overwrite '",
            other, "', which this command reads or its run needs; choose another name");
}

void check_output(const std::string& file, const std::function<std::vector<std::string>()>& kept) {
  check(!file.empty(), "-o is empty; it should name the file to write");
  write_place(file);
  const std::vector<std::string> written{file, file + ".data"};
  std::error_code none;
  if (fs::exists(written[0], none) || fs::exists(written[1], none))
    check_kept(written, kept(), "-o");
}

std::vector<std::string> files_of_model(const std::string& path) {
  std::vector<std::string> files{path};
  if (!fs::exists(path)) return files;
  const std::vector<std::string> beside = external_files(path);
  files.insert(files.end(), beside.begin(), beside.end());
  return files;
}

}  // namespace lockstep
