// SPDX-License-Identifier: Apache-2.0
#include "app/train/saved_numbers.h"

#include <charconv>
#include <cstdlib>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {

int64_t whole_number(const Metadata& metadata, const std::string& key, int64_t least, int64_t most,
                     const std::string& path) {
  const auto found = metadata.find(key);
  check(found != metadata.end(), path, ": its metadata lacks '", key, "'");
  const std::string& text = found->second;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
        path, ": its metadata has ", key, " '", printable(text), "', should be an integer from ",
        least, " to ", most);
  return value;
}

double share_number(const Metadata& metadata, const std::string& key, const std::string& path) {
  const auto found = metadata.find(key);
  const std::string text = found == metadata.end() ? "" : found->second;
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  check(!text.empty() && *end == 0 && share >= 0 && share <= 1, path, ": its metadata has ", key,
        " '", printable(text), "', should be a number from 0 to 1");
  return share;
}

}  // namespace lockstep
