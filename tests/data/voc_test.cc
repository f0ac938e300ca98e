// SPDX-License-Identifier: Apache-2.0
// Pascal VOC's data sets: reading, errors by file and line, and scores.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/coco/training_boxes.h"
#include "data/voc/read_voc.h"
#include "data/voc/scores.h"
#include "data/voc/xml.h"
#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr const char* kStart = R"(<?xml version="1.0" encoding="utf-8"?>
<annotation verified="yes">
  <folder>VOC2007</folder> <filename>picture.png</filename>
)";
constexpr const char* kSize = "<size><width>60</width><height>40</height><depth>3</depth></size>\n";

std::string object_xml(const std::string& name, const std::string& box,
                       const std::string& more = "") {
  return "<object><name>" + name + "</name>" + more + "<bndbox>" + box + "</bndbox></object>\n";
}
std::string box_xml(const char* xmin, const char* ymin, const char* xmax, const char* ymax) {
  return join("<ymin>", ymin, "</ymin><xmax>", xmax, "</xmax><ymax>", ymax, "</ymax><xmin>", xmin,
              "</xmin>");
}

class VocTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"Annotations", "ImageSets", "ImageSets/Main", "JPEGImages"})
      std::filesystem::create_directory(folder_ / name);
  }
  void put(const std::string& name, const std::string& xml, const std::string& type = ".jpg") {
    write_file(folder_ / ("Annotations/" + name + ".xml"), xml);
    write_file(folder_ / ("JPEGImages/" + name + type), "not read");
  }
  void list(const std::string& text) { write_file(folder_ / "ImageSets/Main/val.txt", text); }
  VocSet set() const { return {folder_.path(), "val"}; }
  // The only picture has this file.
  template <class... Parts>
  void refused(const std::string& xml, const Parts&... parts) {
    SCOPED_TRACE(xml);
    list("000005\n");
    put("000005", xml);
    expect_error([&] { read_voc(set()); }, parts...);
  }

  TemporaryFolder folder_;
};

TEST_F(VocTest, IsReadWithDifficultObjects) {
  list("000012\n\n000005 \r\n");
  put("000012", std::string(kStart) + kSize + "</annotation>\n");
  put("000005",
      std::string(kStart) + kSize +
          object_xml("dog", box_xml("1", "1", "60", "40"), "<difficult>1</difficult>") +
          "<!-- <object> of a comment -->" +
          object_xml(
              " person ", box_xml("11", "6.5", "30", "25.5"),
              "<truncated>1</truncated><difficult>0</difficult><part><name>head</name><bndbox>"
              "<xmin>1</xmin></bndbox></part>") +
          object_xml("cat", box_xml("50", "30", "70", "50")) + "</annotation>");
  const Annotations table = read_voc(set());
  EXPECT_TRUE(table.pascal);
  EXPECT_EQ(table.path, folder_ / "ImageSets/Main/val.txt");
  ASSERT_EQ(table.categories.size(), 20U);
  EXPECT_EQ(table.categories[14].name, "person");
  ASSERT_EQ(table.images.size(), 2U);
  EXPECT_EQ(table.images[0].id, 12);
  EXPECT_EQ(table.images[1].file, "000005.jpg");
  EXPECT_EQ(table.images[1].height, 40);
  EXPECT_EQ(table.images[1].width, 60);
  EXPECT_TRUE(table.objects_of(0).empty());
  ASSERT_EQ(table.objects_of(1).size(), 3U);
  const CocoObject &dog = table.objects[0], &person = table.objects[1];
  EXPECT_TRUE(dog.ignore);
  EXPECT_FALSE(person.ignore);
  EXPECT_EQ(dog.bbox, (CocoBox{0, 0, 60, 40}));
  EXPECT_EQ(person.bbox, (CocoBox{10, 5.5, 20, 20}));
  EXPECT_EQ(person.category, 14);
  EXPECT_EQ(person.area, 400);
  LeftOut left_out;
  const std::vector<TrainingBox> boxes = training_boxes(table, 1, -1, left_out);
  ASSERT_EQ(boxes.size(), 2U) << "difficult objects are not trained on";
  EXPECT_EQ(boxes[1].corners, (Corners{49, 29, 60, 40})) << "clipped to the picture";
  EXPECT_EQ(left_out.text(), "1 ignored");
}

TEST_F(VocTest, NumbersPicturesByTheirNamesOrByTheirPlaces) {
  const auto ids = [&](const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) {
      put(name, std::string(kStart) + kSize + "</annotation>");
      all += name + "\n";
    }
    list(all);
    std::vector<int64_t> ids;
    for (const CocoImage& image : read_voc(set()).images) ids.push_back(image.id);
    return ids;
  };
  EXPECT_EQ(ids({"2008_000008", "2007_000032"}), (std::vector<int64_t>{2008000008, 2007000032}));
  EXPECT_EQ(ids({"street", "000005"}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(ids({"1_1", "11"}), (std::vector<int64_t>{1, 2})) << "two names, one number";
}

TEST_F(VocTest, MayHaveOtherClassesAndPictures) {
  list("a&b\n");
  put("a&b",
      std::string(kStart) + kSize +
          object_xml("salt &amp; pepper &#xE9;", box_xml("2", "2", "9", "9")) + "</annotation>",
      ".jpeg");
  std::filesystem::rename(folder_ / "JPEGImages/a&b.jpeg", folder_ / "JPEGImages/picture.png");
  VocSet own = set();
  own.classes = {"cup", "salt & pepper \u00E9"};
  const Annotations table = read_voc(own);
  EXPECT_EQ(table.images[0].file, "picture.png") << "the name in <filename>";
  EXPECT_EQ(table.objects[0].category, 1);
  own.classes = {"cup", "cup"};
  expect_error([&] { read_voc(own); }, "the class 'cup' is named twice");
}

TEST_F(VocTest, BadFilesAreRefusedByFileAndLine) {
  const std::string at = folder_ / "Annotations/000005.xml:";
  const std::string good = box_xml("1", "1", "9", "9");
  refused(std::string(kStart) + "</annotation>", at + "2: <annotation> has no <size>");
  refused(std::string(kStart) + "<size><width>60</width></size></annotation>",
          at + "4: <size> has no <height>");
  for (const char* width : {"0", "60.5", "x", "", "1e9", "-3", "nan"})
    refused(std::string(kStart) + "<size>\n<width>" + width + "</width><height>4</height></size>" +
                "</annotation>",
            at + "5: <width> is ");
  refused(std::string(kStart) + "<size><width>0</width><height>4</height></size></annotation>",
          "should be a whole number from 1 to 1048576");
  refused(
      std::string(kStart) + kSize + "\n" + object_xml("dgo", good) + "</annotation>",
      at + "6: the class \"dgo\" is not known; did you mean dog? Known are aeroplane, bicycle, ",
      "CLASSES of a data set in DATASETS");
  refused(std::string(kStart) + kSize + "\n" + object_xml("zzzzzzzz", good) + "</annotation>",
          at + "6: the class \"zzzzzzzz\" is not known. Known are aeroplane, bicycle, ");
  refused(std::string(kStart) + kSize + "<object><name>dog</name></object></annotation>",
          at + "5: <object> has no <bndbox>");
  refused(std::string(kStart) + kSize + object_xml("dog", "<xmin>1</xmin>") + "</annotation>",
          at + "5: <bndbox> has no <ymin>");
  refused(std::string(kStart) + kSize + object_xml("dog", box_xml("9", "1", "8", "9")) +
              "</annotation>",
          at + "5: <bndbox> is from 9, 1 to 8, 9: xmax and ymax should not be below");
  refused(std::string(kStart) + kSize + object_xml("dog", box_xml("9", "1", "inf", "9")) +
              "</annotation>",
          at + "5: <xmax> is \"inf\", should be a number");
  refused(std::string(kStart) + kSize + object_xml("dog", good, "<difficult>yes</difficult>") +
              "</annotation>",
          at + "5: <difficult> is \"yes\", should be 0 or 1");
  refused("<html>\n</html>", at + "1: should be an <annotation>, is a <html>");

  list("000005\n000006\n");
  put("000005", std::string(kStart) + kSize + "</annotation>");
  expect_error([&] { read_voc(set()); }, folder_ / "ImageSets/Main/val.txt: there is no file ",
               "Annotations/000006.xml of the picture 000006");
  put("000006", std::string(kStart) + kSize + "</annotation>", ".bmp");
  expect_error([&] { read_voc(set()); }, folder_ / "Annotations/000006.xml: there is no picture ",
               "JPEGImages/000006.jpg and no \"picture.png\" in that folder");
  list("000005\n000005\n");
  expect_error([&] { read_voc(set()); }, "val.txt:2: 000005 occurs twice");
  list("000005 -1\n");
  expect_error([&] { read_voc(set()); }, "val.txt:1: \"000005 -1\"", "a list with a second column");
  list("../x\n");
  expect_error([&] { read_voc(set()); }, "val.txt:1: \"../x\" should be a name without folders");
  list("\n");
  expect_error([&] { read_voc(set()); }, "val.txt: names no picture");
  std::filesystem::remove(folder_ / "ImageSets/Main/val.txt");
  expect_error([&] { read_voc(set()); }, "val.txt");
}

TEST(Xml, IsReadStrictly) {
  const XmlElement root =
      parse_xml("\xEF\xBB\xBF<a x='1' y = \"2>\">\n <b/><c>&lt;&#65;</c>text<b>3</b></a >\n", "f");
  EXPECT_EQ(root.children.size(), 3U);
  EXPECT_EQ(root.child("c")->text, "<A");
  EXPECT_EQ(root.child("c")->line, 2);
  EXPECT_EQ(root.text, "text");
  EXPECT_EQ(root.child("d"), nullptr);
  const auto refused = [](const std::string& text, const std::string& why) {
    SCOPED_TRACE(text);
    expect_error([&] { parse_xml(text, "f"); }, why);
  };
  refused("", "f:1: is not XML: an element should begin here, is the end of the file");
  refused("{}", "f:1: is not XML");
  refused("<a>\n<b>\n</a>", "f:3: </a> ends <b> of line 2; </b> should come first");
  refused("<a>\n\n<b>", "f:3: the file ends within <b> of line 3; is it cut off?");
  refused("<a/><b/>", "f:1: continues after </a>");
  refused("<a", "f:1: the tag <a does not end");
  refused("<a x>", "f:1: the attribute 'x' of <a> has no value");
  refused("<a x=1>", "is not in quotes");
  refused("<a>&nbsp;</a>", "f:1: the entity &nbsp; is not known");
  refused("<a>&#0;</a>", "f:1: the entity &#0; is not known");
  refused("<a>&#xD800;</a>", "the entity &#xD800; is not known");
  refused("<a> & </a>", "f:1: an & should begin an entity");
  refused("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "f:1: XML with <!DOCTYPE");
  refused("<a><![CDATA[x]]></a>", "<![CDATA[ is not read");
  refused("<a><!-- </a>", "the comment that begins here does not end");
  refused(std::string("<a>\0</a>", 8), "contains a zero byte");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  refused(deep, "elements are nested more than 32 deep");
}

Annotations one_class(const std::vector<std::vector<CocoObject>>& images) {
  Annotations table;
  table.categories = {{1, "a", {}, {}}, {2, "b", {}, {}}};
  table.first_object = {0};
  for (std::size_t i = 0; i < images.size(); ++i) {
    table.images.push_back({static_cast<int64_t>(i) + 1, "x", 100, 100});
    for (CocoObject object : images[i]) {
      object.image = static_cast<int32_t>(i);
      table.objects.push_back(object);
    }
    table.first_object.push_back(table.objects.size());
  }
  return table;
}

CocoObject object_at(double x, bool difficult = false) {
  CocoObject object;
  object.bbox = {x, 0, 10, 10};
  object.ignore = difficult;
  return object;
}
Detection found_at(int32_t image, double x, double score) {
  return {image, 0, {x, 0, 10, 10}, score};
}

// tests/python/check_voc.py compares random sets with NumPy.
TEST(VocScores, FollowTheRules) {
  const Annotations table = one_class({{object_at(0), object_at(20, true)}, {object_at(0)}});
  const auto score = [&](const std::vector<Detection>& found) {
    return evaluate_voc(table, found);
  };
  // Right at 0.9, wrong twice, right at 0.2: precisions 1 and 1/2 at recalls 1/2 and 1.
  const std::vector<Detection> found{found_at(0, 0, 0.9), found_at(0, 1, 0.8), found_at(0, 60, 0.7),
                                     found_at(0, 20, 0.95), found_at(1, 2, 0.2)};
  const VocScores scores = score(found);
  EXPECT_DOUBLE_EQ(scores.area[0], 0.5 * 1 + 0.5 * 0.5);
  EXPECT_DOUBLE_EQ(scores.eleven_points[0], (6 * 1 + 5 * 0.5) / 11);
  EXPECT_EQ(scores.area[1], -1) << "a class without objects";
  EXPECT_DOUBLE_EQ(VocScores::mean(scores.area), 0.75);
  EXPECT_EQ(VocScores::mean({-1, -1}), -1);
  EXPECT_EQ(score({}).area[0], 0);
  EXPECT_EQ(score({found_at(0, 20, 0.95)}).eleven_points[0], 0) << "difficult: no mistake, no hit";
  // An overlap of exactly 0.5 is not above 0.5: 10 x 10 and 20 x 10 pixels.
  EXPECT_EQ(score({{0, 0, {0, 0, 10, 20}, 1}}).area[0], 0);
  EXPECT_EQ(score({{0, 0, {0, 0, 10, 19}, 1}}).area[0], 0.5);
  EXPECT_EQ(evaluate_voc(table, found, 3).area, scores.area);
}

}  // namespace
}  // namespace lockstep::testing
