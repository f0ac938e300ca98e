// SPDX-License-Identifier: Apache-2.0
// The masks and points of a finder are the results of the prediction graph that a user exports, and
// of the heads in transformed pictures.
#include <gtest/gtest.h>

#include "app/detection/find/box_finder.h"
#include "app/detection/shapes/found_points.h"
#include "app/detection/shapes/pasted_mask.h"
#include "app/detection/shapes/shape_finder.h"
#include "tests/detection/shapes_by_hand.h"

namespace lockstep::testing {
namespace {

const Tensor& output_named(const TrainingModel& model, std::span<const Tensor> results,
                           const std::string& name) {
  const auto& outputs = model.inference.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (model.inference.name(outputs[i]) == name) return results[i];
  fail("there is no output '", name, "'");
}

std::span<const float> row_at(const Tensor& rows, int64_t row, std::size_t numbers) {
  return {rows.as<float>() + row * static_cast<int64_t>(numbers), numbers};
}

// Runs the graph of boxes, masks and heatmaps on one picture, as a user would, and draws.
FoundBoxes drawn_by_hand(SmallDetector& detector, const Image& image) {
  const PictureScale scale = scale_to(image.height, image.width, 96, 160);
  const PictureSize size{padded(scale.height, 32), padded(scale.width, 32)};
  std::vector<float> pixels(static_cast<std::size_t>(3 * size.area()));
  write_picture(image, scale, {}, {pixels.data(), size.height, size.width});
  std::array<float, 3> extent = extent_of(scale);
  const TrainingModel model = detector_step(detector.config, size);
  const auto program = detector.session.inference_of(model);
  const Tensor feeds[] = {{{DType::float32, {1, 3, size.height, size.width}}, pixels.data()},
                          {{DType::float32, {1, 3}}, extent.data()}};
  const auto results = program->run(feeds, detector.session.run_options(0));
  const auto of = [&](const char* name) { return output_named(model, results, name); };
  FoundBoxes found;
  for (int64_t i = 0; i < *of("count").as<int64_t>(); ++i) {
    FoundBox& box = found.emplace_back();
    std::copy_n(of("boxes").as<float>() + 4 * i, 4, box.corners.begin());
    box.score = of("scores").as<float>()[i];
    box.kind = of("classes").as<int64_t>()[i];
    box.mask = pasted_mask(row_at(of("masks"), i, kOfMask), kMask, box.corners,
                           {image.height, image.width}, 0.5);
    if (box.kind == kArrowKind)
      box.points =
          found_points(row_at(of("heatmaps"), i, kOfHeatmaps), kPoints, kHeatmap, box.corners, 0);
  }
  return found;
}

TEST(ShapeFinder, FindsWhatTheExportedGraphFinds) {
  const std::vector<Image> images = images_in(CutScenes(4));
  const std::string both = kSmallFaster + kSmallMaskHead + kSmallKeypointHead;
  SmallDetector one(small_detector_config(both)),
      two(small_detector_config(both, {"DEVICES", "cpu*2"}));
  const auto found =
      BoxFinder(two.config, two.session, arrow_rules()).find(list_of_pictures(images));
  std::size_t points = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    SCOPED_TRACE(join("picture ", i));
    expect_close_shapes(found[i], drawn_by_hand(one, images[i]));
    for (const FoundBox& box : found[i]) points += box.points.size();
  }
  EXPECT_GT(points, 0U);
}

TEST(ShapeFinder, WithoutFurtherViewsFindsTheSameShapes) {
  const std::vector<Image> images = images_in(CutScenes(3));
  const std::string both = kSmallFaster + kSmallMaskHead + kSmallKeypointHead;
  const auto find = [&](const Options& words) {
    SmallDetector detector(small_detector_config(both, words));
    return BoxFinder(detector.config, detector.session, arrow_rules())
        .find(list_of_pictures(images));
  };
  const auto plain = find({});
  for (const Options& words : std::vector<Options>{{"TEST.BBOX_AUG.ENABLED", "true"},
                                                   {"TEST.MASK_AUG.ENABLED", "true"},
                                                   {"TEST.KPS_AUG.ENABLED", "true"}}) {
    SCOPED_TRACE(words[0]);
    const auto found = find(words);
    for (std::size_t i = 0; i < images.size(); ++i) expect_close_shapes(found[i], plain[i]);
  }
}

Image mirrored_image(const Image& image) {
  Image result = image;
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x)
      std::copy_n(&image.rgb[3 * (y * image.width + x)], 3,
                  &result.rgb[3 * (y * image.width + image.width - 1 - x)]);
  return result;
}

// The mean of a picture and its mirror image, whose boxes, cells and pairs of points are mirrored.
TEST(ShapeFinder, JoinsWhatTheHeadsFindInAMirroredPicture) {
  const std::vector<Image> images = images_in(CutScenes(3));
  const std::string both = kSmallFaster + kSmallMaskHead + kSmallKeypointHead;
  SmallDetector detector(
      small_detector_config(both, {"TEST.MASK_AUG.ENABLED", "true", "TEST.MASK_AUG.H_FLIP", "true",
                                   "TEST.KPS_AUG.ENABLED", "true", "TEST.KPS_AUG.H_FLIP", "true"}));
  const auto found =
      BoxFinder(detector.config, detector.session, arrow_rules()).find(list_of_pictures(images));
  const std::array<std::size_t, 5> partner{0, 2, 1, 4, 3};
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto wide = static_cast<float>(images[i].width);
    std::vector<Corners> boxes, around;
    std::vector<int64_t> classes;
    for (const FoundBox& box : found[i]) {
      boxes.push_back(box.corners);
      around.push_back(
          {wide - box.corners[2], box.corners[1], wide - box.corners[0], box.corners[3]});
      classes.push_back(box.kind);
    }
    const auto heads = [&](const Image& image, const std::vector<Corners>& at) {
      return heads_on(detector.config, detector.session, image, at, classes);
    };
    HeadOutputs mean = heads(images[i], boxes);
    const HeadOutputs turned = heads(mirrored_image(images[i]), around);
    FoundBoxes expected = found[i];
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      for (std::size_t y = 0; y < kMask; ++y)
        for (std::size_t x = 0; x < kMask; ++x) {
          float& cell = mean.masks[(b * kMask + y) * kMask + x];
          cell = (cell + turned.masks[(b * kMask + y) * kMask + kMask - 1 - x]) / 2;
        }
      for (std::size_t k = 0; k < kPoints; ++k)
        for (std::size_t y = 0; y < kHeatmap; ++y)
          for (std::size_t x = 0; x < kHeatmap; ++x) {
            float& cell = mean.heatmaps[((b * kPoints + k) * kHeatmap + y) * kHeatmap + x];
            cell = (cell + turned.heatmaps[((b * kPoints + partner[k]) * kHeatmap + y) * kHeatmap +
                                           kHeatmap - 1 - x]) /
                   2;
          }
      expected[b].mask = pasted_mask(std::span(mean.masks).subspan(b * kOfMask, kOfMask), kMask,
                                     boxes[b], {images[i].height, images[i].width}, 0.5);
      if (!expected[b].points.empty())
        expected[b].points =
            found_points(std::span(mean.heatmaps).subspan(b * kOfHeatmaps, kOfHeatmaps), kPoints,
                         kHeatmap, boxes[b], 0);
    }
    SCOPED_TRACE(join("picture ", i));
    expect_close_shapes(found[i], expected);
  }
}

// Sizes alternate in the list. Pictures of a size are seen together, so a network is made once for
// each padded size although only one is kept; in turn they would be made again. The results stay in
// the order of the list.
TEST(ShapeFinder, SeesPicturesOfASizeTogether) {
  const DetectorConfig config =
      small_detector_config(kSmallKeypoints, {"TEST.KPS_AUG.ENABLED", "true", "DEVICES", "cpu*2"});
  SmallDetector detector(config);
  const Image picture = CutScenes(1).picture(0);
  std::vector<Image> images;
  for (std::size_t i = 0; i < 16; ++i) {
    const PictureSize size = i % 2 == 0 ? PictureSize{60, 64} : PictureSize{60, 90};
    Image& image = images.emplace_back(Image{size.height, size.width, {}});
    for (int64_t k = 0; k < 3 * size.area(); ++k)
      image.rgb.push_back(picture.rgb[(static_cast<std::size_t>(k) * (i + 3)) % 999]);
  }
  FoundBox box;
  box.corners = {4, 5, 50, 44};
  box.kind = kArrowKind;
  box.score = 0.5F;
  const auto points_in = [&](const std::vector<Image>& some, ShapeFinder& finder) {
    std::vector<FoundBoxes> found(some.size(), FoundBoxes{box});
    ShapeDrawer drawer(detector.config, finder.views().points());
    finder.find_in_views(list_of_pictures(some), found, drawer);
    drawer.finish();
    return found;
  };
  ShapeFinder together(detector.config, detector.session, arrow_rules(), 1);
  ASSERT_EQ(together.views().views().size(), 1U);
  const std::vector<FoundBoxes> found = points_in(images, together);
  EXPECT_EQ(together.networks_made(), 2U);
  ShapeFinder alone(detector.config, detector.session, arrow_rules(), 1);
  for (std::size_t i = 0; i < images.size(); ++i) {
    SCOPED_TRACE(join("picture ", i));
    expect_same_boxes(points_in(std::vector<Image>{images[i]}, alone),
                      std::vector<FoundBoxes>{found[i]});
    EXPECT_EQ(found[i].at(0).points.size(), kPoints);
  }
  EXPECT_EQ(alone.networks_made(), images.size()) << "in the order of the list, one for each";
}

}  // namespace
}  // namespace lockstep::testing
