// SPDX-License-Identifier: Apache-2.0
#include "app/train/restart.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "app/train/run_folder.h"

namespace lockstep {
namespace {

// The absolute path without links. The file need not exist.
std::string place_of_file(const std::filesystem::path& path) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path)).string();
}

// The run that the launch continues, if the run is of the series; else "".
std::string continued_run(const std::string& series) {
  const char* const folder = std::getenv(kContinueRun);
  if (folder == nullptr || *folder == 0) return "";
  return series_with(folder) == place_of_file(without_slashes(series)) ? folder : "";
}

}  // namespace

// The file is in the launch's memory. If it cannot be written, a restart begins a new run.
void note_run(const std::string& folder) {
  const char* const path = std::getenv(kRunNote);
  if (path == nullptr || *path == 0) return;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << place_of_file(folder);
}

Resume resume_by_launch(const Resume& asked, const std::string& series) {
  const std::string folder = continued_run(series);
  return folder.empty() ? asked : Resume{.wanted = true, .in = folder};
}

TraceRequest trace_by_launch(TraceRequest asked, const std::string& series) {
  asked.continues = !continued_run(series).empty();
  return asked;
}

}  // namespace lockstep
