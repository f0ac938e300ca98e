// SPDX-License-Identifier: Apache-2.0
#include "data/coco/digest.h"

#include <span>

#include "data/long_digest.h"
#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

template <class T>
std::span<const T> part_of(const std::vector<T>& pool, PoolPart part) {
  return std::span(pool).subspan(part.first, part.count);
}

// As floats, which training reads and which earlier versions stored.
void add_floats(LongDigest& all, std::span<const double> values) {
  const std::vector<float> floats(values.begin(), values.end());
  all.add_list(std::span(floats));
}

void add_shape(LongDigest& all, const Annotations& table, const CocoObject& object) {
  all.add(object.area);
  all.add(object.polygons.count);
  for (const PoolPart polygon : part_of(table.polygons, object.polygons))
    add_floats(all, part_of(table.coordinates, polygon));
  all.add(object.mask >= 0);
  if (object.mask >= 0) {
    const RunLengths& mask = table.masks[object.mask];
    all.add(mask.height);
    all.add(mask.width);
    all.add_list(std::span(mask.counts));
  }
  add_floats(all, part_of(table.keypoints, object.keypoints));
}

std::string with_counts(const Annotations& table, const std::string& digest) {
  return join(table.images.size(), " images, ", table.objects.size(), " objects, ", digest);
}

}  // namespace

std::string digest_of(const Annotations& table) {
  LongDigest all;
  for (const CocoCategory& category : table.categories) {
    all.add_list(std::span(category.name));
    all.add(uint64_t{category.keypoints.size()});
    for (const std::string& name : category.keypoints) all.add_list(std::span(name));
  }
  for (const CocoImage& image : table.images) {
    all.add(image.id);
    all.add(image.height);
    all.add(image.width);
  }
  for (const CocoObject& object : table.objects) {
    all.add(object.image);
    all.add(object.category);
    all.add(object.bbox);
    all.add(object.crowd);
    all.add(object.ignore);
    add_shape(all, table, object);
  }
  return with_counts(table, all.text());
}

std::string digest_of_boxes(const Annotations& table) {
  std::string bytes;
  const auto add = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const CocoCategory& category : table.categories) bytes += category.name + '\0';
  for (const CocoImage& image : table.images) {
    add(image.id);
    add(image.height);
    add(image.width);
  }
  for (const CocoObject& object : table.objects) {
    add(object.image);
    add(object.category);
    add(object.bbox);
    add(object.crowd);
    add(object.ignore);
  }
  return with_counts(table, digest(bytes.data(), bytes.size()));
}

}  // namespace lockstep
