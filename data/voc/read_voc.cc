// SPDX-License-Identifier: Apache-2.0
#include "data/voc/read_voc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "data/voc/xml.h"
#include "graph/file.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestVocSide = 1 << 20;

// Reads the file of one picture.
class VocFile {
 public:
  VocFile(const std::string& path, const std::vector<std::string>& classes)
      : path_(path), classes_(classes), root_(parse_xml(read_file(path), path)) {
    if (root_.name != "annotation")
      refuse(root_, "should be an <annotation>, is a <", printable(root_.name), ">");
  }

  CocoImage image() const {
    const XmlElement* const size = root_.child("size");
    if (!size)
      refuse(root_,
             "<annotation> has no <size>; without the picture's width and height its boxes "
             "cannot be checked");
    CocoImage image;
    image.width = side(*size, "width");
    image.height = side(*size, "height");
    return image;
  }

  // The name in <filename>, or "" if there is none.
  std::string file_name() const {
    const XmlElement* const name = root_.child("filename");
    if (!name) return "";
    if (const std::string found = first_control(name->text); !found.empty())
      refuse(*name, "<filename> contains the control character ", found);
    return fs::path(name->text).filename().string();
  }

  std::vector<CocoObject> objects() const {
    std::vector<CocoObject> objects;
    for (const XmlElement& element : root_.children)
      if (element.name == "object") objects.push_back(object(element));
    return objects;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const XmlElement& at, const Parts&... parts) const {
    fail(path_, ":", at.line, ": ", parts...);
  }

  const XmlElement& child(const XmlElement& of, const char* name) const {
    const XmlElement* const found = of.child(name);
    if (!found) refuse(of, "<", of.name, "> has no <", name, ">");
    return *found;
  }

  double number(const XmlElement& of, const char* name) const {
    const XmlElement& element = child(of, name);
    const std::string& text = element.text;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      refuse(element, "<", name, "> is ", in_quotes(text), ", should be a number");
    return value;
  }

  int64_t side(const XmlElement& of, const char* name) const {
    const double value = number(of, name);
    if (value < 1 || value > static_cast<double>(kLargestVocSide) || value != std::floor(value))
      refuse(child(of, name), "<", name, "> is ", value, ", should be a whole number from 1 to ",
             kLargestVocSide);
    return static_cast<int64_t>(value);
  }

  bool flag(const XmlElement& of, const char* name) const {
    const XmlElement* const found = of.child(name);
    if (!found) return false;
    if (found->text != "0" && found->text != "1")
      refuse(*found, "<", name, "> is ", in_quotes(found->text), ", should be 0 or 1");
    return found->text == "1";
  }

  int32_t category(const XmlElement& name) const {
    const auto known = std::find(classes_.begin(), classes_.end(), name.text);
    if (known != classes_.end()) return static_cast<int32_t>(known - classes_.begin());
    constexpr std::size_t kMostSaid = 20;
    const std::string near = nearest(name.text, classes_);
    refuse(name, "the class ", in_quotes(name.text), " is not known",
           near.empty() ? "." : "; did you mean " + near + "?", " Known are ",
           first_listed(classes_, kMostSaid),
           ". The field CLASSES of a data set in DATASETS names other classes");
  }

  CocoObject object(const XmlElement& element) const {
    CocoObject object;
    object.category = category(child(element, "name"));
    object.ignore = flag(element, "difficult");
    const XmlElement& box = child(element, "bndbox");
    const double left = number(box, "xmin"), top = number(box, "ymin");
    const double right = number(box, "xmax"), bottom = number(box, "ymax");
    if (right < left || bottom < top)
      refuse(box, "<bndbox> is from ", left, ", ", top, " to ", right, ", ", bottom,
             ": xmax and ymax should not be below xmin and ymin");
    object.bbox = {left - 1, top - 1, right - left + 1, bottom - top + 1};
    object.area = object.bbox[2] * object.bbox[3];
    return object;
  }

  const std::string& path_;
  const std::vector<std::string>& classes_;
  XmlElement root_;
};

// The name and the line of each picture.
std::vector<std::string> names_in_list(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::vector<std::string> names;
  std::set<std::string> seen;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string name, more;
    if (!(words >> name)) continue;
    check(!(words >> more), path, ":", number, ": ", in_quotes(line),
          " should be the name of a picture alone; a list with a second column is for one class");
    check(first_control(name).empty() && name.find('/') == name.npos, path, ":", number, ": ",
          in_quotes(name), " should be a name without folders and file type, such as 000005");
    check(seen.insert(name).second, path, ":", number, ": ", name, " occurs twice");
    names.push_back(std::move(name));
  }
  check(!names.empty(), path, ": names no picture");
  return names;
}

// 2008_000008 is 2008000008. Returns nothing unless all names are different numbers.
std::vector<int64_t> numbers_of_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMostDigits = 18;
  std::vector<int64_t> numbers;
  std::set<int64_t> seen;
  for (std::string name : names) {
    std::erase(name, '_');
    if (name.empty() || name.size() > kMostDigits ||
        name.find_first_not_of("0123456789") != name.npos)
      return {};
    numbers.push_back(std::stoll(name));
    if (!seen.insert(numbers.back()).second) return {};
  }
  return numbers;
}

// The picture of an annotation: NAME.jpg, or the file that the annotation names.
std::string picture_file(const VocSet& set, const std::string& name, const std::string& annotated,
                         const std::string& xml) {
  const fs::path folder = set.pictures();
  std::error_code ignored;
  for (const std::string& file : {name + ".jpg", annotated})
    if (!file.empty() && fs::exists(folder / file, ignored)) return file;
  fail(xml, ": there is no picture ", (folder / (name + ".jpg")).string(),
       annotated.empty() || annotated == name + ".jpg"
           ? ""
           : join(" and no ", in_quotes(annotated), " in that folder, the name in <filename>"));
}

void check_classes(const std::vector<std::string>& classes) {
  check(!classes.empty(), "the list of classes is empty");
  for (const std::string& name : classes)
    check(!name.empty() && std::count(classes.begin(), classes.end(), name) == 1, "the class '",
          printable(name), "' is ", name.empty() ? "empty" : "named twice");
}

}  // namespace

const std::vector<std::string>& pascal_classes() {
  static const std::vector<std::string> classes{
      "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",      "car",
      "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",    "motorbike",
      "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};
  return classes;
}

std::string VocSet::list_path() const { return folder + "/ImageSets/Main/" + list + ".txt"; }
std::string VocSet::pictures() const { return folder + "/JPEGImages"; }

Annotations read_voc(const VocSet& set) {
  check_classes(set.classes);
  Annotations table;
  table.path = set.list_path();
  table.pascal = true;
  for (std::size_t i = 0; i < set.classes.size(); ++i)
    table.categories.push_back({static_cast<int64_t>(i) + 1, set.classes[i], {}, {}});
  const std::vector<std::string> names = names_in_list(table.path);
  const std::vector<int64_t> numbers = numbers_of_names(names);
  table.first_object.push_back(0);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string path = join(set.folder, "/Annotations/", names[i], ".xml");
    std::error_code ignored;
    check(fs::exists(path, ignored), table.path, ": there is no file ", path, " of the picture ",
          names[i]);
    const VocFile file(path, set.classes);
    CocoImage image = file.image();
    image.id = numbers.empty() ? static_cast<int64_t>(i) + 1 : numbers[i];
    image.file = picture_file(set, names[i], file.file_name(), path);
    table.images.push_back(std::move(image));
    for (CocoObject& object : file.objects()) {
      object.id = static_cast<int64_t>(table.objects.size()) + 1;
      object.image = static_cast<int32_t>(i);
      table.objects.push_back(object);
    }
    table.first_object.push_back(table.objects.size());
  }
  return table;
}

}  // namespace lockstep
