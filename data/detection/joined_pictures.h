// SPDX-License-Identifier: Apache-2.0
// Several sets of pictures as one, in their order.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/detection/picture_set.h"

namespace lockstep {

struct NamedPictures {
  std::string name;
  std::unique_ptr<PictureSet> pictures;
};

// Ids of images and objects are unique within their own set only: two files may have the same ones.
// So name pictures by name_of(), and write and score results set by set.
class JoinedPictures final : public PictureSet {
 public:
  // Throws naming two sets whose categories are not the same.
  explicit JoinedPictures(std::vector<NamedPictures> sets);

  const Annotations& annotations() const override { return table_; }
  Image picture(std::size_t number) const override;
  void look_at_header(std::size_t number) const override;
  bool has_headers() const override;
  std::string name_of(std::size_t number) const override;
  Annotations take_annotations() override { return std::exchange(table_, {}); }

 private:
  struct Part {
    std::unique_ptr<PictureSet> pictures;
    std::size_t first = 0;  // of its pictures
  };
  const Part& part_of(std::size_t number) const;

  Annotations table_;
  std::vector<Part> parts_;
};

}  // namespace lockstep
