// SPDX-License-Identifier: Apache-2.0
#include "app/config/named_fields.h"

#include <algorithm>

#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// DATASETS.mine.v2.IMAGES: a section's name may have dots, a field has none.
struct FieldPath {
  const ConfigKey* key = nullptr;  // null: no such key is a prefix of the name
  NamedSections* value = nullptr;
  std::string section, field;  // one is empty if the name is no field

  bool is_field() const {
    if (!key || section.empty()) return false;
    const std::vector<std::string> known = value->all_fields();
    return std::find(known.begin(), known.end(), field) != known.end();
  }
};

FieldPath path_of(const ConfigKeys& keys, const std::string& name) {
  for (const ConfigKey& key : keys) {
    auto* const* value = std::get_if<NamedSections*>(&key.target);
    if (!value || !name.starts_with(key.key + ".")) continue;
    const std::string below = name.substr(key.key.size() + 1);
    const std::size_t dot = below.rfind('.');
    if (dot == below.npos) return {&key, *value, below, ""};
    return {&key, *value, below.substr(0, dot), below.substr(dot + 1)};
  }
  return {};
}

std::string text_of_fields(const std::vector<std::string>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i)
    text += (i == 0 ? "" : i + 1 == fields.size() ? " and " : ", ") + fields[i];
  return text;
}

}  // namespace

std::vector<std::string> NamedSections::all_fields() const {
  std::vector<std::string> all = fields;
  all.insert(all.end(), other_fields.begin(), other_fields.end());
  all.insert(all.end(), list_fields.begin(), list_fields.end());
  return all;
}

std::string NamedSections::fields_text() const {
  const std::string text = text_of_fields(fields);
  return other_fields.empty() ? text : text + ", or " + text_of_fields(other_fields);
}

std::optional<NamedField> find_field(const ConfigKeys& keys, const std::string& name) {
  const FieldPath path = path_of(keys, name);
  if (!path.is_field()) return std::nullopt;
  std::string& text = path.value->sections[path.section][path.field];
  const std::vector<std::string>& lists = path.value->list_fields;
  const bool is_list = std::find(lists.begin(), lists.end(), path.field) != lists.end();
  return NamedField{{name, &text, path.key->meaning, {.nested = is_list}}, path.key->key};
}

void refuse_field(const ConfigKeys& keys, const std::string& name, const std::string& at) {
  const FieldPath path = path_of(keys, name);
  if (!path.key || path.is_field()) return;
  const std::string fields = path.value->fields_text();
  check(!path.section.empty(), at, ": a name below ", path.key->key, " is empty");
  check(!path.field.empty(), at, ": ", name, " should be a section with ", fields, ": ",
        path.key->key, ": {NAME: {", path.value->fields.at(0), ": .., ..}}");
  const std::string near = nearest(path.field, path.value->all_fields());
  const std::string section = path.key->key + "." + path.section;
  fail(at, ": unknown key ", name, "; ",
       near.empty() ? join(section, " has ", fields)
                    : join("did you mean ", section, ".", near, "?"));
}

}  // namespace lockstep
