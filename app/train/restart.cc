// SPDX-License-Identifier: Apache-2.0
#include "app/train/restart.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/train/run_folder.h"

namespace lockstep {
namespace {

// Without links, relative to no folder. The file need not exist.
std::string place_of_file(const std::filesystem::path& path) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path)).string();
}

}  // namespace

// The file is in the launch's memory. If it cannot be written, a restart begins a new run.
void note_run(const std::string& folder) {
  const char* const path = std::getenv(kRunNote);
  if (path == nullptr || *path == 0) return;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << place_of_file(folder);
}

Resume resume_by_launch(const Resume& asked, const std::string& series) {
  const char* const folder = std::getenv(kContinueRun);
  if (folder == nullptr || *folder == 0) return asked;
  return series_with(folder) == place_of_file(without_slashes(series))
             ? Resume{.wanted = true, .in = folder}
             : asked;
}

}  // namespace lockstep
