// SPDX-License-Identifier: Apache-2.0
#include "data/coco/elements.h"

#include <fstream>

#include "graph/file.h"
#include "lockstep/error.h"
#include "runtime/accelerator.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr int kDeepest = 32;  // COCO's own lists of polygons are 5 deep

// Lists with other keys are not checked.
bool is_list_of_coco(const std::string& key) {
  return key == "images" || key == "categories" || key == "annotations";
}

// Passes each element to `take` as soon as the parser has built the element, then drops the
// element.
class Elements {
 public:
  explicit Elements(const CocoElement& take) : take_(take) {}

  bool keep(int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    check(depth <= kDeepest, "lists and objects are nested more than ", kDeepest, " deep");
    if (depth == 0 && event == Event::array_start) {
      element_depth_ = 1;
    } else if (depth == 1 && event == Event::key) {
      section_ = value.get<std::string>();
    } else if (depth == 1 && event == Event::array_start) {
      in_list_ = true;
    } else if (depth == 1 && event == Event::array_end) {
      in_list_ = false;
    } else if (depth == 1 && element_depth_ == 2 && is_list_of_coco(section_) &&
               (event == Event::object_start || event == Event::value)) {
      fail("'", section_, "' should be a list");
    }
    const bool ends =
        event == Event::object_end || event == Event::array_end || event == Event::value;
    if (!ends || depth != element_depth_) return true;
    if (element_depth_ == 1 || in_list_) take_(section_, value);
    return false;
  }

 private:
  const CocoElement& take_;
  std::string section_;
  bool in_list_ = false;
  int element_depth_ = 2;
};

// The parser's text without the prefix "[json.exception...] ".
std::string reason(const json::exception& error) {
  const std::string text = error.what();
  const std::size_t colon = text.find("] ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

}  // namespace

void for_each_element(const std::string& path, const CocoElement& take) {
  read_file_part(path, 0, {});  // throws for anything but a regular file
  std::ifstream file(path, std::ios::binary);
  Elements elements(take);
  try {
    const json rest = json::parse(file, [&](int depth, json::parse_event_t event, json& value) {
      return elements.keep(depth, event, value);
    });
    check(rest.is_object() || rest.is_array(), "should hold an object or a list");
  } catch (const json::exception& error) {
    fail(path, ": not JSON: ", reason(error));
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

}  // namespace lockstep
