// SPDX-License-Identifier: Apache-2.0
// Compares labels of anchors with Detectron's. The only difference is an object's best anchors
// below the background threshold: Detectron relabels them background, Lockstep keeps them
// foreground.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "builders/detection/anchors.h"
#include "tests/detection/cases.h"
#include "tests/support/naive_targets.h"

namespace lockstep::testing {
namespace {

using nlohmann::json;

constexpr int64_t kEveryAnchor = 10000;

TargetOperands true_boxes_of(const json& c, const std::vector<int64_t>& classes,
                             const std::vector<float>& image) {
  const auto rows = static_cast<int64_t>(c.at("gt").size());
  return {of_floats(half_open(c.at("gt")), {1, rows, 4}), labels(classes, {1, rows}),
          labels(std::vector<int64_t>(classes.size(), 0), {1, rows}),
          of_floats({image.at(0), image.at(1), 1}, {1, 3}), labels({0}, {1})};
}

// The expected label and target of an anchor.
struct ExpectedAnchor {
  int64_t label;
  std::vector<double> target;
};

void expect_target(const std::vector<double>& expected, const float* found, int64_t step,
                   const std::string& where) {
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(found[static_cast<int64_t>(k) * step], expected[k],
                1e-5 * std::max(1.0, std::abs(expected[k])))
        << where << ", delta " << k;
}

// The index of the anchor with these inclusive corners in a level, or -1.
int64_t place_of(const AnchorLevel& level, const std::vector<float>& box) {
  int64_t place = 0;
  for (std::size_t a = 0; a < level.anchors.size(); a += 4)
    for (int64_t y = 0; y < level.height; ++y)
      for (int64_t x = 0; x < level.width; ++x, ++place) {
        const int64_t shifts[] = {x * level.stride, y * level.stride};
        bool same = true;
        for (std::size_t k = 0; k < 4; ++k) {
          const float corner = level.anchors[a + k] + static_cast<float>(shifts[k % 2]);
          same = same && std::abs(corner - box[k]) < 1e-3F;
        }
        if (same) return place;
      }
  return -1;
}

TEST(DetectronTargets, OfARegionProposalNetwork) {
  const auto& cases = detectron_cases().at("rpn_targets");
  ASSERT_EQ(cases.size(), 2u);
  for (const json& c : cases) {
    const bool fpn = c.at("fpn");
    AnchorTargetsAttrs attrs;
    attrs.sample = attrs.foreground = kEveryAnchor;
    for (const json& level : c.at("levels")) {
      const auto stride = level.at("stride").get<int64_t>();
      const int64_t cells = level.at("field_size");
      const auto per_cell = level.at("anchors_per_cell").get<std::size_t>();
      const std::vector<double> sizes = fpn ? std::vector<double>{8.0 * static_cast<double>(stride)}
                                            : std::vector<double>{32, 64};
      attrs.levels.push_back({base_anchors(stride, sizes, {0.5, 1, 2}), stride, cells, cells});
      ASSERT_EQ(attrs.levels.back().anchors.size(), 4 * per_cell);
    }
    const auto found = results_of(
        anchor_targets_case("rpn", true_boxes_of(c, {1, 1, 1, 1}, c.at("image")), attrs));
    const std::vector<float> relabelled = half_open(c.at("best_anchors_relabelled_background"));
    std::size_t ours = 0;
    for (std::size_t l = 0; l < attrs.levels.size(); ++l) {
      const json& level = c.at("levels")[l];
      const int64_t cells = attrs.levels[l].width;
      std::map<int64_t, std::vector<double>> expected;
      for (const json& each : level.at("foreground"))
        expected[(each.at("a").get<int64_t>() * cells + each.at("y").get<int64_t>()) * cells +
                 each.at("x").get<int64_t>()] = each.at("target").get<std::vector<double>>();
      std::set<int64_t> kept;  // foreground by Lockstep's rule alone
      for (std::size_t i = 0; i < relabelled.size(); i += 4) {
        const int64_t place =
            place_of(attrs.levels[l], {relabelled.begin() + static_cast<std::ptrdiff_t>(i),
                                       relabelled.begin() + static_cast<std::ptrdiff_t>(i) + 4});
        if (place >= 0) kept.insert(place);
      }
      ours += kept.size();
      const auto places = found[3 * l].values<int64_t>(),
                 label = found[3 * l + 1].values<int64_t>();
      const auto targets = found[3 * l + 2].values<float>();
      std::size_t foreground = 0, background = 0;
      for (std::size_t i = 0; i < places.size() && places[i] >= 0; ++i) {
        const std::string where = join("level ", l, ", place ", places[i]);
        if (label[i] == 0) {
          ++background;
          EXPECT_FALSE(expected.contains(places[i]) || kept.contains(places[i])) << where;
          continue;
        }
        ++foreground;
        if (kept.contains(places[i])) continue;
        ASSERT_TRUE(expected.contains(places[i])) << where;
        expect_target(expected[places[i]], &targets[4 * i], 1, where);
      }
      EXPECT_EQ(foreground, expected.size() + kept.size()) << "level " << l;
      EXPECT_EQ(background + kept.size(), level.at("background").get<std::size_t>()) << l;
    }
    EXPECT_EQ(4 * ours, relabelled.size());
  }
}

// The nine anchors of a cell are nine fields in Detectron: by octave, then by aspect ratio.
TEST(DetectronTargets, OfRetinaNet) {
  const json& c = detectron_cases().at("retinanet_targets");
  AnchorTargetsAttrs attrs;
  attrs.positive_overlap = 0.5F;
  attrs.negative_overlap = 0.4F;
  attrs.straddle = -1;
  attrs.sample = attrs.foreground = 0;
  for (std::size_t f = 0; f < c.at("fields").size(); f += 9) {
    const json& field = c.at("fields")[f];
    const auto stride = field.at("stride").get<int64_t>();
    std::vector<float> anchors;
    for (int octave = 0; octave < 3; ++octave) {
      const double size = 4.0 * static_cast<double>(stride) * std::pow(2, octave / 3.0);
      const auto each = base_anchors(stride, {size}, {1, 2, 0.5});
      anchors.insert(anchors.end(), each.begin(), each.end());
    }
    attrs.levels.push_back({anchors, stride, field.at("shape")[0], field.at("shape")[1]});
  }
  ASSERT_EQ(attrs.levels.size(), 5u);
  const std::vector<int64_t> classes = c.at("classes");
  const auto found = results_of(
      anchor_targets_case("retinanet", true_boxes_of(c, classes, c.at("image_blob")), attrs));
  const std::vector<float> relabelled = half_open(c.at("best_anchors_relabelled_background"));
  std::size_t ours = 0;
  int64_t objects = 0, others = 0;
  for (std::size_t l = 0; l < attrs.levels.size(); ++l) {
    const AnchorLevel& level = attrs.levels[l];
    const int64_t cells = level.height * level.width;
    std::set<int64_t> kept;
    for (std::size_t i = 0; i < relabelled.size(); i += 4) {
      const auto box = relabelled.begin() + static_cast<std::ptrdiff_t>(i);
      const int64_t place = place_of(level, {box, box + 4});
      if (place >= 0) kept.insert(place);
    }
    ours += kept.size();
    const auto label = found[2 * l].values<int64_t>();
    const auto targets = found[2 * l + 1].values<float>();
    for (int64_t a = 0; a < 9; ++a) {
      const json& field = c.at("fields")[9 * l + static_cast<std::size_t>(a)];
      std::map<int64_t, ExpectedAnchor> expected;
      for (const json& each : field.at("fg"))
        expected[a * cells + each.at("y").get<int64_t>() * level.width +
                 each.at("x").get<int64_t>()] = {each.at("label"),
                                                 each.at("target").get<std::vector<double>>()};
      std::map<int64_t, int64_t> count;  // by label; 1 for any object
      for (int64_t place = a * cells; place < (a + 1) * cells; ++place) {
        const int64_t mine = label[place];
        const std::string where = join("level ", l, ", anchor ", a, ", place ", place);
        if (kept.contains(place)) {
          EXPECT_EQ(mine, 2) << where;  // the best anchors of an object have its class
          ++count[0];
          ++objects;
          --others;
          continue;
        }
        ++count[std::min<int64_t>(mine, 1)];
        ASSERT_EQ(mine > 0, expected.contains(place)) << where;
        if (mine <= 0) continue;
        EXPECT_EQ(mine, expected[place].label) << where;
        expect_target(expected[place].target, &targets[a * 4 * cells + place % cells], cells,
                      where);
      }
      EXPECT_EQ(count[0], field.at("background").get<int64_t>()) << "level " << l << ", " << a;
      EXPECT_EQ(count[-1], field.at("ignored").get<int64_t>()) << "level " << l << ", " << a;
      objects += count[1];
      others += count[0];
    }
  }
  EXPECT_EQ(4 * ours, relabelled.size());
  EXPECT_EQ(found.back(), Literal::vector({objects, others}));
  // Detectron's normaliser is its number of objects plus 1, counted before it relabels anchors.
  EXPECT_EQ(static_cast<double>(objects + 1), c.at("fg_num")[0].get<double>());
}

}  // namespace
}  // namespace lockstep::testing
