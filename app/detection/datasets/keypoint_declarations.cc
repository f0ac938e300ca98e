// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/keypoint_declarations.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "app/config/nested.h"
#include "app/config/read.h"
#include "data/coco/keypoints.h"
#include "graph/listed.h"
#include "lockstep/error.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

using PairOfNames = std::array<std::string, 2>;

std::vector<double> sigmas_in(const std::string& text) {
  const Nested all = parse_nested(text);
  check(all.kind == Nested::Kind::list && !all.list.empty(),
        "should be a list of numbers, one for each point, such as [0.05, 0.1], is '", text, "'");
  std::vector<double> sigmas;
  for (const Nested& item : all.list) sigmas.push_back(item.number("a sigma"));
  check_sigmas(sigmas);
  return sigmas;
}

// An empty list is no pair: no points are swapped.
std::vector<PairOfNames> pairs_in(const std::string& text) {
  constexpr const char* kForm = "should be a list of pairs, such as [[left_eye, right_eye]], ";
  const Nested all = parse_nested(text);
  check(all.kind == Nested::Kind::list, kForm, "is '", text, "'");
  std::vector<PairOfNames> pairs;
  for (const Nested& item : all.list) {
    check(item.kind == Nested::Kind::list && item.list.size() == 2, kForm, "has '", text_of(item),
          "'");
    pairs.push_back({item.list[0].name("a point"), item.list[1].name("a point")});
  }
  return pairs;
}

// The place of a point among these names; nothing if there is no such point.
std::optional<std::size_t> place_of_point(const std::vector<std::string>& names,
                                          const std::string& point) {
  const auto named = std::find(names.begin(), names.end(), point);
  if (named != names.end()) return named - names.begin();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (point == std::to_string(i)) return i;
  return std::nullopt;
}

// All points of the set, as a list of each category with points.
std::string text_of_points(const Annotations& table) {
  std::string text;
  for (const CocoCategory& category : table.categories)
    if (!category.keypoints.empty())
      text += join(text.empty() ? "" : "; ", "'", category.name, "' has ",
                   first_listed(category.keypoints, 20));
  return text.empty() ? "none has keypoints" : text;
}

void declare_sigmas(Annotations& table, const std::string& text) {
  table.keypoint_sigmas = sigmas_in(text);
  bool any = false;
  for (const CocoCategory& category : table.categories) {
    const std::size_t points = category.keypoints.size();
    check(points == 0 || points == table.keypoint_sigmas.size(), table.keypoint_sigmas.size(),
          " numbers, but '", category.name, "' of ", table.path, " has ", points, " keypoints");
    any = any || points > 0;
  }
  check(any, "no category of ", table.path, " has keypoints");
}

void swap_points(CocoCategory& category, std::size_t one, std::size_t other) {
  const auto& names = category.keypoints;
  check(one != other, "'", names[one], "' is swapped with itself");
  for (const auto& [first, second] : category.swap)
    for (const std::size_t place : {one, other})
      check(place != first && place != second, "'", names[place], "' is in two pairs");
  category.swap.emplace_back(one, other);
}

void declare_pairs(Annotations& table, const std::string& text) {
  for (CocoCategory& category : table.categories) category.swap.clear();
  for (const auto& [one, other] : pairs_in(text)) {
    bool known = false;
    for (CocoCategory& category : table.categories) {
      const auto first = place_of_point(category.keypoints, one);
      const auto second = place_of_point(category.keypoints, other);
      if (!first || !second) continue;
      swap_points(category, *first, *second);
      known = true;
    }
    check(known, "no category of ", table.path, " has both points of the pair [", one, ", ", other,
          "]: ", text_of_points(table));
  }
}

// Calls act(text) if the set has the field. Errors begin with the field's origin.
template <class Act>
void with_field(const DetectorConfig& config, const std::string& set, const std::string& field,
                const Act& act) {
  const NamedSections::Section& section = config.sets.declared.sections.at(set);
  const auto found = section.find(field);
  if (found == section.end() || found->second.empty()) return;
  const std::string key = join("DATASETS.", set, ".", field);
  try {
    act(found->second);
  } catch (const Error& error) {
    fail(config.origins.blame({key}, config.path), ": ", error);
  }
}

}  // namespace

void check_keypoint_declarations(const DetectorConfig& config, const std::string& set) {
  with_field(config, set, kKeypointSigmas, [](const std::string& text) { sigmas_in(text); });
  with_field(config, set, kKeypointFlips, [](const std::string& text) { pairs_in(text); });
}

void declare_keypoints(const DetectorConfig& config, const std::string& set, Annotations& table) {
  with_field(config, set, kKeypointSigmas,
             [&](const std::string& text) { declare_sigmas(table, text); });
  with_field(config, set, kKeypointFlips,
             [&](const std::string& text) { declare_pairs(table, text); });
}

void check_keypoints(const DetectorConfig& config, const Annotations& table,
                     const std::string& names, const std::string& key) {
  if (!takes_keypoints(config.network)) return;
  const int64_t points = config.network.krcnn.num_keypoints;
  bool any = false;
  for (const CocoCategory& category : table.categories) {
    const std::vector<std::string>& own = category.keypoints;
    check(own.empty() || static_cast<int64_t>(own.size()) == points,
          config.origins.blame({"KRCNN.NUM_KEYPOINTS"}, config.path), " is ", points, ", but ",
          names, " of ", key, " needs ", own.size(), ": '", category.name, "' has the points ",
          first_listed(own, 20));
    any = any || !own.empty();
  }
  if (key != "TEST.DATASETS") return;
  const std::string blame = config.origins.blame({key}, config.path);
  check(any, blame, ": no category of ", names,
        " names keypoints, so that MODEL.KEYPOINTS_ON could not be scored");
  prefixing(blame, [&] { sigmas_of(table); });
}

void check_same_keypoints(const DetectorConfig& config, const Annotations& train,
                          const Annotations& test) {
  const std::size_t count = std::min(train.categories.size(), test.categories.size());
  for (std::size_t i = 0; takes_keypoints(config.network) && i < count; ++i) {
    const CocoCategory& category = train.categories[i];
    const std::vector<std::string>&own = category.keypoints, &other = test.categories[i].keypoints;
    check(own.empty() || other.empty() || own == other, "the keypoints of '", category.name,
          "' are ", listed(own), " in ", train.path, ", but ", listed(other), " in ", test.path);
    check(own.empty() || other.empty() || category.swap == test.categories[i].swap,
          "a mirrored picture swaps the keypoints ", text_of_pairs(category), " of '",
          category.name, "' in ", train.path, ", but ", text_of_pairs(test.categories[i]), " in ",
          test.path, "; declare equal KEYPOINT_FLIPS for both");
  }
}

std::string text_of_all_pairs(const Annotations& table) {
  std::vector<std::string> all;
  for (const CocoCategory& category : table.categories)
    if (!category.keypoints.empty()) all.push_back(category.name + ": " + text_of_pairs(category));
  return listed(all, "; ");
}

}  // namespace lockstep
