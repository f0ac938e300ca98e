// SPDX-License-Identifier: Apache-2.0
#include "data/detection/joined_pictures.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "data/coco/keypoints.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string list_of(const std::vector<std::string>& names) { return "[" + listed(names) + "]"; }

std::vector<std::string> texts_of(const std::vector<double>& numbers) {
  std::vector<std::string> texts;
  for (double number : numbers) texts.push_back(join(number));
  return texts;
}

// Checks that categories are the same by name, because ids may differ between files. Adds keypoints
// that only the second set has.
void join_categories(std::vector<CocoCategory>& categories, const std::vector<CocoCategory>& more,
                     const std::string& first, const std::string& second) {
  const char* why = "; data sets that are joined should have the same categories in the same order";
  for (std::size_t i = 0; i < std::min(categories.size(), more.size()); ++i) {
    CocoCategory& category = categories[i];
    check(category.name == more[i].name, "category ", i + 1, " is '", category.name, "' in ", first,
          ", but '", more[i].name, "' in ", second, why);
    if (category.keypoints.empty()) {
      category.keypoints = more[i].keypoints;
      category.swap = more[i].swap;
    }
    check(more[i].keypoints.empty() || category.keypoints == more[i].keypoints, "'", category.name,
          "' has the keypoints ", list_of(category.keypoints), " in ", first, ", but ",
          list_of(more[i].keypoints), " in ", second, why);
    check(more[i].keypoints.empty() || category.swap == more[i].swap, "'", category.name,
          "' swaps keypoints in a mirrored picture: ", text_of_pairs(category), " in ", first,
          ", but ", text_of_pairs(more[i]), " in ", second,
          "; declare the same KEYPOINT_FLIPS for both");
  }
  const bool fewer = categories.size() > more.size();
  const auto& longer = fewer ? categories : more;
  const std::size_t both = std::min(categories.size(), more.size());
  if (categories.size() != more.size())
    fail(first, " has ", categories.size(), " categories, ", second, " has ", more.size(), ": '",
         longer[both].name, "' is missing in ", fewer ? second : first, why);
}

// Sigmas of either set serve both.
void join_sigmas(std::vector<double>& sigmas, const std::vector<double>& more,
                 const std::string& first, const std::string& second) {
  if (sigmas.empty()) sigmas = more;
  check(more.empty() || sigmas == more, "keypoints have the sigmas ", list_of(texts_of(sigmas)),
        " in ", first, ", but ", list_of(texts_of(more)), " in ", second,
        "; declare the same KEYPOINT_SIGMAS for both");
}

template <class T>
uint32_t append(std::vector<T>& pool, std::vector<T> more) {
  constexpr std::size_t kMost = std::numeric_limits<uint32_t>::max();
  const std::size_t before = pool.size();
  check(before + more.size() <= kMost, "together, the data sets have ", before + more.size(),
        " coordinates or objects, the most is ", kMost);
  pool.insert(pool.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  return static_cast<uint32_t>(before);
}

// Appends everything except the categories.
void append_table(Annotations& table, Annotations more) {
  table.path += " + " + more.path;
  const std::size_t objects = table.objects.size();
  const auto images = static_cast<int32_t>(append(table.images, std::move(more.images)));
  const uint32_t coordinates = append(table.coordinates, std::move(more.coordinates));
  for (PoolPart& polygon : more.polygons) polygon.first += coordinates;
  const uint32_t polygons = append(table.polygons, std::move(more.polygons));
  const auto masks = static_cast<int32_t>(append(table.masks, std::move(more.masks)));
  const uint32_t keypoints = append(table.keypoints, std::move(more.keypoints));
  table.dropped_polygons += more.dropped_polygons;
  table.pascal = table.pascal && more.pascal;
  for (CocoObject& object : more.objects) {
    object.image += images;
    object.polygons.first += polygons;
    object.keypoints.first += keypoints;
    if (object.mask >= 0) object.mask += masks;
  }
  append(table.objects, std::move(more.objects));
  for (std::size_t i = 1; i < more.first_object.size(); ++i)
    table.first_object.push_back(objects + more.first_object[i]);
}

}  // namespace

JoinedPictures::JoinedPictures(std::vector<NamedPictures> sets) {
  check(!sets.empty(), "there is no data set to join");
  std::string names;
  for (NamedPictures& set : sets) {
    parts_.push_back({std::move(set.pictures), table_.images.size()});
    PictureSet& pictures = *parts_.back().pictures;
    if (names.empty()) {
      table_ = pictures.take_annotations();
    } else {
      join_categories(table_.categories, pictures.annotations().categories, names, set.name);
      join_sigmas(table_.keypoint_sigmas, pictures.annotations().keypoint_sigmas, names, set.name);
      append_table(table_, pictures.take_annotations());
    }
    names += (names.empty() ? "" : " + ") + set.name;
  }
}

const JoinedPictures::Part& JoinedPictures::part_of(std::size_t number) const {
  const auto behind =
      std::upper_bound(parts_.begin(), parts_.end(), number,
                       [](std::size_t wanted, const Part& part) { return wanted < part.first; });
  return *std::prev(behind);
}

Image JoinedPictures::picture(std::size_t number) const {
  const Part& part = part_of(number);
  return part.pictures->picture(number - part.first);
}

void JoinedPictures::look_at_header(std::size_t number) const {
  const Part& part = part_of(number);
  part.pictures->look_at_header(number - part.first);
}

bool JoinedPictures::has_headers() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.pictures->has_headers(); });
}

std::string JoinedPictures::name_of(std::size_t number) const {
  const Part& part = part_of(number);
  return part.pictures->name_of(number - part.first);
}

}  // namespace lockstep
