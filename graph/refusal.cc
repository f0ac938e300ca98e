// SPDX-License-Identifier: Apache-2.0
#include "graph/refusal.h"

#include <cerrno>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::pair<std::errc, const char*> kRemedies[] = {
    {std::errc::read_only_file_system, "choose a folder that you can write to"},
    {std::errc::permission_denied, "choose a folder that you may use, or change its permissions"},
    {std::errc::operation_not_permitted, "choose a folder that you may use"},
    {std::errc::no_space_on_device, "free some space, or choose another disk"},
    {std::errc::file_exists, "a file has that name; choose another, or move the file away"},
    {std::errc::not_a_directory, "a part of the path is a file; choose another path"},
    {std::errc::filename_too_long, "shorten the name"},
    {std::errc::too_many_symbolic_link_levels,
     "a link on the path leads back to itself; remove the link, or choose another path"},
    {std::errc::too_many_files_open, "raise the limit of open files (ulimit -n)"},
};

}  // namespace

std::string refusal_text(const std::string& path, const std::error_code& reason) {
  std::string text = join("'", path, "': ", reason.message());
  for (const auto& [code, remedy] : kRemedies)
    if (reason == code) text += join("; ", remedy);
  return text;
}

std::string refusal_text(const std::filesystem::filesystem_error& error) {
  const std::string other = error.path2().string();
  return "cannot use " + (other.empty() ? "" : join("'", error.path1().string(), "' and ")) +
         refusal_text(other.empty() ? error.path1().string() : other, error.code());
}

void fail_errno(const std::string& path, const char* what) {
  fail("cannot ", what, " ", refusal_text(path, std::error_code(errno, std::generic_category())));
}

}  // namespace lockstep
