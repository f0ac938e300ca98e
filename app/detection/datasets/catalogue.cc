// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/catalogue.h"

namespace lockstep {
namespace {

struct CatalogueRow {
  const char* name;
  const char* images;
  const char* annotations;
  const char* voc = nullptr;
};

constexpr CatalogueRow kCatalogue[] = {
    {"coco_2014_train", "coco/coco_train2014", "coco/annotations/instances_train2014.json"},
    {"coco_2014_val", "coco/coco_val2014", "coco/annotations/instances_val2014.json"},
    {"coco_2014_minival", "coco/coco_val2014", "coco/annotations/instances_minival2014.json"},
    {"coco_2014_valminusminival", "coco/coco_val2014",
     "coco/annotations/instances_valminusminival2014.json"},
    {"coco_2015_test", "coco/coco_test2015", "coco/annotations/image_info_test2015.json"},
    {"coco_2015_test-dev", "coco/coco_test2015", "coco/annotations/image_info_test-dev2015.json"},
    {"coco_2017_train", "coco/coco_train2017", "coco/annotations/instances_train2017.json"},
    {"coco_2017_val", "coco/coco_val2017", "coco/annotations/instances_val2017.json"},
    {"coco_2017_test", "coco/coco_test2017", "coco/annotations/image_info_test2017.json"},
    {"coco_2017_test-dev", "coco/coco_test2017", "coco/annotations/image_info_test-dev2017.json"},
    {"keypoints_coco_2014_train", "coco/coco_train2014",
     "coco/annotations/person_keypoints_train2014.json"},
    {"keypoints_coco_2014_val", "coco/coco_val2014",
     "coco/annotations/person_keypoints_val2014.json"},
    {"keypoints_coco_2014_minival", "coco/coco_val2014",
     "coco/annotations/person_keypoints_minival2014.json"},
    {"keypoints_coco_2014_valminusminival", "coco/coco_val2014",
     "coco/annotations/person_keypoints_valminusminival2014.json"},
    {"keypoints_coco_2015_test", "coco/coco_test2015", "coco/annotations/image_info_test2015.json"},
    {"keypoints_coco_2015_test-dev", "coco/coco_test2015",
     "coco/annotations/image_info_test-dev2015.json"},
    {"keypoints_coco_2017_train", "coco/coco_train2017",
     "coco/annotations/person_keypoints_train2017.json"},
    {"keypoints_coco_2017_val", "coco/coco_val2017",
     "coco/annotations/person_keypoints_val2017.json"},
    {"coco_stuff_train", "coco/coco_train2014", "coco/annotations/coco_stuff_train.json"},
    {"coco_stuff_val", "coco/coco_val2014", "coco/annotations/coco_stuff_val.json"},
    {"cityscapes_fine_instanceonly_seg_train", "cityscapes/images",
     "cityscapes/annotations/instancesonly_gtFine_train.json"},
    {"cityscapes_fine_instanceonly_seg_val", "cityscapes/images",
     "cityscapes/annotations/instancesonly_filtered_gtFine_val.json"},
    {"cityscapes_fine_instanceonly_seg_test", "cityscapes/images",
     "cityscapes/annotations/instancesonly_gtFine_test.json"},
    {"voc_2007_trainval", "VOC2007/JPEGImages", "VOC2007/annotations/voc_2007_trainval.json",
     "VOC2007"},
    {"voc_2007_test", "VOC2007/JPEGImages", "VOC2007/annotations/voc_2007_test.json", "VOC2007"},
    {"voc_2012_trainval", "VOC2012/JPEGImages", "VOC2012/annotations/voc_2012_trainval.json",
     "VOC2012"},
};

}  // namespace

std::optional<PictureFiles> detectron_set(const std::string& name, const std::string& data_dir) {
  for (const CatalogueRow& row : kCatalogue) {
    if (name != row.name) continue;
    PictureFiles files{data_dir + "/" + row.images, data_dir + "/" + row.annotations};
    if (row.voc) files.voc = data_dir + "/" + row.voc;
    if (row.voc) files.list = name.substr(name.rfind('_') + 1);
    return files;
  }
  return std::nullopt;
}

std::vector<std::string> detectron_set_names() {
  std::vector<std::string> names;
  for (const CatalogueRow& row : kCatalogue) names.emplace_back(row.name);
  return names;
}

}  // namespace lockstep
