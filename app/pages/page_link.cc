// SPDX-License-Identifier: Apache-2.0
#include "app/pages/page_link.h"

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Folders without links and dots. The file's own name stays: a link to a file has its own place.
fs::path place_of(const std::string& file) {
  const fs::path path = fs::absolute(file);
  return fs::weakly_canonical(path.parent_path()) / path.filename();
}

std::string escaped_url(const std::string& path) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string url;
  for (const char c : path) {
    if (kPlain.find(c) != kPlain.npos) {
      url += c;
      continue;
    }
    char digits[4];
    std::snprintf(digits, sizeof digits, "%%%02X", static_cast<unsigned char>(c));
    url += digits;
  }
  return url;
}

}  // namespace

std::string link_between(const std::string& page, const std::string& other) {
  return escaped_url(place_of(other).lexically_relative(place_of(page).parent_path()).string());
}

}  // namespace lockstep
