// SPDX-License-Identifier: Apache-2.0
#include "data/detection/padded_shapes.h"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>

#include "data/detection/picture.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Chosen = PaddedShapes::Shape;

PictureSize covering(const PictureSize& a, const PictureSize& b) {
  return {std::max(a.height, b.height), std::max(a.width, b.width)};
}

bool covers(const PictureSize& shape, const PictureSize& size) {
  return shape.height >= size.height && shape.width >= size.width;
}

// The number of pixels that merging a and b adds.
int64_t price(const Chosen& a, const Chosen& b) {
  const int64_t area = covering(a.size, b.size).area();
  return (area - a.size.area()) * a.pictures + (area - b.size.area()) * b.pictures;
}

// The pair of shapes that is cheapest to merge. If some shapes have fewer pictures than `least`,
// the pair includes one with fewer.
std::pair<std::size_t, std::size_t> cheapest(const std::vector<Chosen>& shapes, int64_t least) {
  const bool any_small = std::any_of(shapes.begin(), shapes.end(),
                                     [&](const Chosen& s) { return s.pictures < least; });
  std::pair<std::size_t, std::size_t> best{0, 1};
  int64_t lowest = std::numeric_limits<int64_t>::max();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t k = i + 1; k < shapes.size(); ++k) {
      if (any_small && shapes[i].pictures >= least && shapes[k].pictures >= least) continue;
      const int64_t here = price(shapes[i], shapes[k]);
      if (here >= lowest) continue;
      lowest = here;
      best = {i, k};
    }
  return best;
}

void merge(std::vector<Chosen>& shapes, std::size_t i, std::size_t k) {
  shapes[i] = {covering(shapes[i].size, shapes[k].size), shapes[i].pictures + shapes[k].pictures};
  shapes.erase(shapes.begin() + static_cast<std::ptrdiff_t>(k));
}

// Assigns each picture to the smallest shape that covers it, because a merged shape may now cover
// pictures of other shapes.
void assign_pictures(std::vector<Chosen>& shapes, const std::map<PictureSize, int64_t>& sizes) {
  std::sort(shapes.begin(), shapes.end(), [](const Chosen& a, const Chosen& b) {
    return std::pair(a.size.area(), a.size) < std::pair(b.size.area(), b.size);
  });
  for (Chosen& shape : shapes) shape.pictures = 0;
  for (const auto& [size, count] : sizes)
    std::find_if(shapes.begin(), shapes.end(), [&, wanted = size](const Chosen& s) {
      return covers(s.size, wanted);
    })->pictures += count;
  std::erase_if(shapes, [](const Chosen& shape) { return shape.pictures == 0; });
}

bool any_too_few(const std::vector<Chosen>& shapes, const PaddingRules& rules) {
  return shapes.size() > 1 && std::any_of(shapes.begin(), shapes.end(), [&](const Chosen& shape) {
           return shape.pictures < rules.least_images;
         });
}

}  // namespace

PaddedShapes choose_shapes(const std::vector<PictureSize>& pictures, const PaddingRules& rules) {
  check(!pictures.empty(), "there is no picture to choose a shape for");
  check(rules.most >= 1, "the number of shapes should be at least 1");
  const auto on_stride = [&](const PictureSize& size) {
    return PictureSize{padded(size.height, rules.stride), padded(size.width, rules.stride)};
  };
  std::map<PictureSize, int64_t> sizes;
  for (const PictureSize& picture : pictures) ++sizes[on_stride(picture)];
  std::vector<Chosen> shapes;
  for (const auto& [size, count] : sizes) shapes.push_back({size, count});
  while (shapes.size() > rules.most || any_too_few(shapes, rules)) {
    const auto [i, k] = cheapest(shapes, shapes.size() > rules.most ? 0 : rules.least_images);
    merge(shapes, i, k);
    assign_pictures(shapes, sizes);
  }
  assign_pictures(shapes, sizes);

  PaddedShapes result{std::move(shapes), {}, 0};
  int64_t all = 0, used = 0;
  for (const PictureSize& picture : pictures) {
    const auto shape = std::find_if(result.shapes.begin(), result.shapes.end(),
                                    [&](const Chosen& each) { return covers(each.size, picture); });
    result.of.push_back(static_cast<int32_t>(shape - result.shapes.begin()));
    all += shape->size.area();
    used += picture.area();
  }
  result.padding = 1 - static_cast<double>(used) / static_cast<double>(all);
  return result;
}

std::string PaddedShapes::text() const {
  std::ostringstream out;
  out << shapes.size() << (shapes.size() == 1 ? " shape, " : " shapes, ") << std::fixed
      << std::setprecision(1) << 100 * padding << " % padding: ";
  for (std::size_t i = 0; i < shapes.size(); ++i)
    out << (i == 0 ? "" : ", ") << shapes[i].size.height << "x" << shapes[i].size.width << " ("
        << shapes[i].pictures << (shapes[i].pictures == 1 ? " picture)" : " pictures)");
  return out.str();
}

}  // namespace lockstep
