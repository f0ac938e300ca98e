// SPDX-License-Identifier: Apache-2.0
#include "data/coco/read_annotations.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "data/coco/elements.h"
#include "data/coco/fields.h"
#include "data/coco/keypoints.h"
#include "data/coco/read_shapes.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr int64_t kLeastId = std::numeric_limits<int64_t>::min();

class AnnotationReader {
 public:
  explicit AnnotationReader(const std::string& path) { table_.path = path; }

  void take(const std::string& section, const json& element) {
    if (section == "images") take_image({element, "image"});
    if (section == "categories") take_category({element, "category"});
    if (section == "annotations") take_object({element, "annotation"});
  }

  Annotations finish() {
    check(!table_.images.empty(), "has no images: the list 'images' is empty or missing");
    check(!table_.categories.empty(),
          "has no categories: the list 'categories' is empty or missing");
    sort_categories();
    sort_objects();
    return std::move(table_);
  }

 private:
  void take_image(const Fields& fields) {
    CocoImage image;
    image.id = fields.integer("id", kLeastId);
    image.file = name_in(fields, "file_name");
    image.height = side(fields, "height");
    image.width = side(fields, "width");
    if (image.file.empty()) fields.refuse("'file_name' is empty");
    if (!images_.emplace(image.id, table_.images.size()).second) fields.refuse("occurs twice");
    table_.images.push_back(std::move(image));
  }

  // Refuses control characters. A NUL would end a path early, so that the path names another file.
  static std::string name_in(const Fields& fields, const char* key) {
    const std::string& text = fields.text(key);
    if (const std::string found = first_control(text); !found.empty())
      fields.refuse("'", key, "' is ", in_quotes(text), ", which contains the control character ",
                    found, "; remove it");
    return text;
  }

  static int64_t side(const Fields& fields, const char* key) {
    const int64_t size = fields.integer(key, 1);
    if (size > kLargestSide) fields.refuse("'", key, "' is ", size, ", the most is ", kLargestSide);
    return size;
  }

  void take_category(const Fields& fields) {
    CocoCategory category;
    category.id = fields.integer("id", kLeastId);
    category.name = name_in(fields, "name");
    if (fields.has("keypoints")) {
      const json& names = fields.at("keypoints");
      if (!names.is_array()) fields.refuse("'keypoints' is ", brief(names), ", should be a list");
      for (const json& name : names) {
        if (!name.is_string())
          fields.refuse("'keypoints' has ", brief(name), ", should have names");
        const auto& known = category.keypoints;
        if (std::find(known.begin(), known.end(), name.get<std::string>()) != known.end())
          fields.refuse("'keypoints' names ", brief(name), " twice");
        category.keypoints.push_back(name.get<std::string>());
      }
    }
    category.swap = pairs_by_name(category.keypoints);
    if (fields.has("keypoint_sigmas")) take_sigmas(fields, category);
    if (!categories_.emplace(category.id, table_.categories.size()).second)
      fields.refuse("occurs twice");
    table_.categories.push_back(std::move(category));
  }

  // All points of a data set have one list of sigmas, because scores of keypoints have one.
  void take_sigmas(const Fields& fields, const CocoCategory& category) {
    const std::vector<double> sigmas = fields.numbers("keypoint_sigmas");
    try {
      check_sigmas(sigmas);
    } catch (const Error& error) {
      fields.refuse("'keypoint_sigmas': ", error.what());
    }
    if (sigmas.size() != category.keypoints.size())
      fields.refuse("'keypoint_sigmas' has ", sigmas.size(), " numbers, but 'keypoints' names ",
                    category.keypoints.size(), " points");
    if (!table_.keypoint_sigmas.empty() && table_.keypoint_sigmas != sigmas)
      fields.refuse(
          "'keypoint_sigmas' differs from another category's; give all categories with "
          "keypoints the same sigmas");
    table_.keypoint_sigmas = sigmas;
  }

  // Images and categories may come later in the file, so their ids are kept separately until
  // finish().
  void take_object(const Fields& fields) {
    CocoObject object;
    object.id = fields.integer("id", kLeastId);
    if (!objects_.insert(object.id).second) fields.refuse("occurs twice");
    image_ids_.push_back(fields.integer("image_id", kLeastId));
    category_ids_.push_back(fields.integer("category_id", kLeastId));
    object.bbox = fields.box("bbox");
    object.area = fields.has("area") ? fields.number("area") : object.bbox[2] * object.bbox[3];
    if (!(object.area >= 0)) fields.refuse("'area' is ", object.area, ", should be 0 or more");
    object.crowd = fields.flag("iscrowd");
    object.ignore = fields.flag("ignore");
    if (fields.has("segmentation")) read_segmentation(fields, table_, object);
    if (fields.has("keypoints")) read_keypoints(fields, table_, object);
    table_.objects.push_back(object);
  }

  void sort_categories() {
    std::sort(table_.categories.begin(), table_.categories.end(),
              [](const CocoCategory& a, const CocoCategory& b) { return a.id < b.id; });
    for (std::size_t i = 0; i < table_.categories.size(); ++i)
      categories_[table_.categories[i].id] = i;
  }

  // Sorts objects image by image, in the file's order within an image.
  void sort_objects() {
    std::vector<CocoObject>& objects = table_.objects;
    std::vector<std::size_t>& first = table_.first_object;
    first.assign(table_.images.size() + 1, 0);
    for (std::size_t i = 0; i < objects.size(); ++i) {
      objects[i].image = place(images_, image_ids_[i], objects[i], "image");
      objects[i].category = place(categories_, category_ids_[i], objects[i], "category");
      ++first[objects[i].image + 1];
      check_shapes(table_, objects[i]);
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::stable_sort(objects.begin(), objects.end(),
                     [](const CocoObject& a, const CocoObject& b) { return a.image < b.image; });
  }

  static int32_t place(const std::unordered_map<int64_t, std::size_t>& known, int64_t id,
                       const CocoObject& object, const char* what) {
    const auto found = known.find(id);
    check(found != known.end(), "annotation ", object.id, ": '", what, "_id' is ", id,
          ", but there is no such ", what);
    return static_cast<int32_t>(found->second);
  }

  Annotations table_;
  std::unordered_map<int64_t, std::size_t> images_, categories_;
  std::unordered_set<int64_t> objects_;
  std::vector<int64_t> image_ids_, category_ids_;  // of each object
};

}  // namespace

Annotations read_annotations(const std::string& path) {
  AnnotationReader reader(path);
  for_each_element(path, [&](const std::string& section, const json& element) {
    reader.take(section, element);
  });
  try {
    return reader.finish();
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

}  // namespace lockstep
