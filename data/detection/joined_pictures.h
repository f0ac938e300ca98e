// SPDX-License-Identifier: Apache-2.0
// Joins several sets of pictures, in order.
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

// Ids of images and objects are unique only within a set: two files may have equal ids. So name
// pictures by name_of(), and write and score results set by set.
class JoinedPictures final : public PictureSet {
 public:
  // Throws if categories of two sets differ. The error names the sets.
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
    std::size_t first = 0;  // number of the part's first picture
  };
  const Part& part_of(std::size_t number) const;

  Annotations table_;
  std::vector<Part> parts_;
};

}  // namespace lockstep
