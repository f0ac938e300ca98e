// Images in folders: ROOT/train/CLASS/NAME.jpg, held out ROOT/val/CLASS/NAME.png. Classes are the
// folders' names in byte order.
#pragma once

#include "data/dataset.h"

namespace lockstep {

class ImageFolder final : public Dataset {
 public:
  explicit ImageFolder(const DatasetOptions& options);

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t classes() const override { return static_cast<int64_t>(class_names_.size()); }
  std::string class_name(int64_t label) const override { return class_names_[label]; }
  void read(int64_t index, uint64_t draw, float* image, int64_t* label) const override;

 private:
  struct File {
    std::string path;
    int64_t label;
  };

  DatasetOptions options_;
  std::vector<std::string> class_names_;
  std::vector<File> files_;
};

}  // namespace lockstep
