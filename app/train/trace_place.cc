// SPDX-License-Identifier: Apache-2.0
#include "app/train/trace_place.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "app/config/nested.h"
#include "app/trace/trace_file.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Appends the texts of a value: a name, or the names in a list or section.
void add_texts(const Nested& value, std::vector<std::string>& texts) {
  if (value.is_text() && !value.text.empty()) texts.push_back(value.text);
  for (const Nested& item : value.list) add_texts(item, texts);
  for (const NestedField& field : value.fields) add_texts(field.value, texts);
}

std::vector<std::string> texts_of(const ConfigKey& key) {
  std::vector<std::string> texts;
  const std::string line = key.facts.nested ? text_of(key) : yaml_of(key);
  if (!line.empty()) add_texts(parse_nested(line), texts);
  return texts;
}

// The file that a trace would replace.
class Replaced {
 public:
  explicit Replaced(const TraceRequest& request) {
    std::error_code none;  // a missing file is no other file
    if (!request.is_asked() || !fs::is_regular_file(request.file, none)) return;
    place_ = fs::canonical(write_place(request.file));
    const std::string start = read_file_start(place_.string(), std::string(kTraceBegins).size());
    is_worthless_ = start.empty() || start == kTraceBegins;
  }
  bool exists() const { return !place_.empty(); }

  bool is(const std::string& other) const {
    std::error_code none;
    return fs::equivalent(place_, other, none);
  }
  // A pattern such as docs/*.md names files, too.
  bool is_of(const std::string& pattern) const {
    const std::string whole = fs::absolute(pattern).lexically_normal().string();
    return !is_worthless_ && fnmatch(whole.c_str(), place_.c_str(), 0) == 0;
  }
  bool is_within(const std::string& folder) const {
    std::error_code none;
    if (is_worthless_ || !fs::is_directory(folder, none)) return false;
    const fs::path whole = fs::canonical(folder, none);
    const auto [end, rest] =
        std::mismatch(whole.begin(), whole.end(), place_.begin(), place_.end());
    return end == whole.end() && rest != place_.end();
  }

 private:
  fs::path place_;
  bool is_worthless_ = false;  // a trace, or nothing
};

template <class... Why>
[[noreturn]] void refuse(const TraceRequest& request, const Why&... why) {
  fail("--trace ", printable(request.file), " would replace ", why..., "; name another file");
}

}  // namespace

void check_trace_place(const TraceRequest& request, const ConfigFiles& files,
                       const ConfigKeys& keys) {
  const Replaced replaced(request);
  if (!replaced.exists()) return;
  for (const ConfigFile& file : files)
    if (replaced.is(file.path)) refuse(request, "the configuration ", printable(file.path));
  for (const ConfigKey& key : keys) {
    const bool has_patterns = key.key.ends_with(".FILES");
    for (const std::string& name : texts_of(key)) {
      if (replaced.is(name) || (has_patterns && replaced.is_of(name)))
        refuse(request, "a file that the run reads: ", Key{key.key}, " names ", printable(name));
      if (replaced.is_within(name))
        refuse(request, "a file in ", printable(name), ", the folder that ", Key{key.key},
               " names");
    }
  }
}

void check_trace_place(const TraceRequest& request, const std::string& checkpoint) {
  const Replaced replaced(request);
  if (!replaced.exists() || checkpoint.empty()) return;
  const std::string folder = fs::path(checkpoint).parent_path().string();
  if (replaced.is(checkpoint) || replaced.is_within(folder))
    refuse(request, "a file of the run that goes on from ", printable(checkpoint));
}

}  // namespace lockstep
