// SPDX-License-Identifier: Apache-2.0
#include "graph/external.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "graph/onnx.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

int64_t number_of(const onnx::StringStringEntryProto& entry, const std::string& what) {
  const std::string& text = entry.value();
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc() && end == text.data() + text.size() && number >= 0, what,
        ": external data has the ", entry.key(), " '", text, "', which is not a number of bytes");
  return number;
}

bool lies_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

struct Said {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // to the end
};

Said said_by(const onnx::TensorProto& proto, const std::string& what) {
  Said said;
  std::set<std::string> keys;
  for (const auto& entry : proto.external_data()) {
    check(keys.insert(entry.key()).second, what, ": external data has the ", entry.key(), " twice");
    if (entry.key() == "location") said.location = entry.value();
    if (entry.key() == "offset") said.offset = number_of(entry, what);
    if (entry.key() == "length") said.length = number_of(entry, what);
  }
  const fs::path relative(said.location);
  check(!relative.empty() && said.location.find('\0') == said.location.npos &&
            relative.is_relative() &&
            std::find(relative.begin(), relative.end(), "..") == relative.end(),
        what, ": external data location '", said.location, "' is outside the model's folder");
  return said;
}

// Returns the path with links resolved. Throws unless the path is a regular file in an allowed
// folder.
fs::path resolved(const std::string& location, const DataPlace& place, const std::string& what) {
  check(!place.folder.empty(), what, ": its data is in '", location,
        "', but only the tensors of the model itself may be in another file");
  const fs::path named = fs::path(place.folder) / location;
  std::error_code error;
  const fs::path real = fs::canonical(named, error);
  check(!error, what, ": cannot read ", named.string(), ": ", error.message());
  check(lies_below(real, fs::canonical(place.folder, error)) || lies_below(real, place.real), what,
        ": external data location '", location, "' is a link to ", real.string(),
        ", which is outside the model's folder");
  check(fs::is_regular_file(real, error), what, ": cannot read ", real.string(),
        ": it is not a regular file");
  return real;
}

}  // namespace

DataPlace data_place_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  std::error_code error;
  const fs::path real = fs::canonical(file, error).parent_path();
  return {folder.empty() ? "." : folder.string(), real.string()};
}

void check_external(const onnx::TensorProto& proto, const std::string& what) {
  said_by(proto, what);
}

ExternalData external_data(const onnx::TensorProto& proto, const DataPlace& place,
                           const std::string& what) {
  const auto [location, offset, length] = said_by(proto, what);
  const fs::path path = resolved(location, place, what);
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  check(!error, what, ": cannot read ", path.string(), ": ", error.message());
  check(offset <= size && length <= size - offset, what, ": external data is ",
        length < 0 ? std::string("the rest") : join(length, " bytes"), " at offset ", offset,
        " of ", path.string(), ", which has ", size, " bytes");
  return {path.string(), offset, length < 0 ? size - offset : length};
}

}  // namespace lockstep
