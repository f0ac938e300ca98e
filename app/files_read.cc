// SPDX-License-Identifier: Apache-2.0
#include "app/files_read.h"

#include <filesystem>

#include "app/config/files.h"
#include "app/config/nested.h"
#include "app/written_files.h"

namespace lockstep {
namespace {

// Adds a value: a name, or the names in a list or section.
void add_texts(const Nested& value, std::vector<std::string>& texts) {
  if (value.is_text() && !value.text.empty()) texts.push_back(value.text);
  for (const Nested& item : value.list) add_texts(item, texts);
  for (const NestedField& field : value.fields) add_texts(field.value, texts);
}

// Adds a file. A network has data beside it.
void add_file(const std::string& name, std::vector<std::string>& files) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(name, none)) return;
  if (!is_onnx(name)) return files.push_back(name);
  const std::vector<std::string> all = files_of_model(name);
  files.insert(files.end(), all.begin(), all.end());
}

}  // namespace

std::vector<std::string> files_read(const ModelRequest& request) {
  std::vector<std::string> names, files;
  for (std::size_t i = 1; i < request.settings.size(); i += 2) names.push_back(request.settings[i]);
  std::error_code none;
  const bool is_file = std::filesystem::is_regular_file(request.source, none);
  if (is_yaml(request.source) && is_file) {  // a pipe can be read only once
    for (const ConfigFile& file : config_files(request.source)) files.push_back(file.path);
    add_texts(parse_nested(configuration_of(request)), names);
  } else if (is_onnx(request.source)) {
    names.push_back(request.source);
  }
  for (const std::string& name : names) add_file(name, files);
  return files;
}

}  // namespace lockstep
