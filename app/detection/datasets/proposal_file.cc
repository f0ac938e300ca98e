// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/proposal_file.h"

#include <algorithm>
#include <unordered_map>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

constexpr const char* kProposalFormat = "lockstep proposals 2";
constexpr const char* kSet = "set";
constexpr std::string_view kSuffix = ".safetensors";

Tensor tensor_of(const auto& values, Dims dims, DType dtype) {
  return {{dtype, std::move(dims)}, const_cast<void*>(static_cast<const void*>(values.data()))};
}

// A file's tensors, checked against each other.
class StoredBoxes {
 public:
  explicit StoredBoxes(const std::string& path)
      : path_(path), file_(read_safetensors(path)), set_(file_.metadata[kSet]) {
    const std::string format = file_.metadata[kFormatKey];
    check(format == kProposalFormat, path, ": is not a file of proposals: ",
          format.empty()
              ? "its metadata has no format"
              : join("its format is '", printable(format), "', should be '", kProposalFormat, "'"));
    const int64_t images = rows("image_ids", DType::int64, {});
    const int64_t all = rows("boxes", DType::float32, {4});
    const int64_t scores = rows("scores", DType::float32, {});
    const int64_t first = rows("first", DType::int64, {});
    check(scores == all, path, ": has ", all, " boxes, but ", scores, " scores");
    check(first == images + 1, path, ": 'first' has ", first, " numbers for ", images,
          " pictures, should have ", images + 1);
    check_first(all);
  }

  const std::string& set() const { return set_; }
  std::span<const int64_t> ids() const { return values<int64_t>("image_ids"); }

  // Throws unless the boxes are finite and the best come first.
  FoundBoxes picture(std::size_t place) const {
    const auto first = values<int64_t>("first");
    const auto corners = values<float>("boxes"), scores = values<float>("scores");
    const std::size_t end = first[place + 1];
    FoundBoxes boxes;
    for (std::size_t i = first[place]; i < end; ++i) {
      FoundBox box;
      std::copy_n(corners.data() + 4 * i, 4, box.corners.begin());
      box.score = scores[i];
      check(is_finite(box), path_, ": box ", i, ", of image ", ids()[place], ", is ", box);
      check(boxes.empty() || boxes.back().score >= box.score, path_, ": box ", i, ", of image ",
            ids()[place], ", has a score of ", box.score, ", more than the box before it");
      boxes.push_back(box);
    }
    return boxes;
  }

 private:
  template <class T>
  std::span<const T> values(const char* name) const {
    return file_.tensors.at(name).values<T>();
  }

  int64_t rows(const char* name, DType dtype, const Dims& of_row) const {
    const auto found = file_.tensors.find(name);
    check(found != file_.tensors.end(), path_, ": has no tensor '", name, "'");
    Dims dims = found->second.dims();
    const bool fits = found->second.dtype() == dtype && !dims.empty() &&
                      Dims(dims.begin() + 1, dims.end()) == of_row;
    check(fits, path_, ": '", name, "' is ", found->second.type(), ", should be ", dtype,
          of_row.empty() ? "[N]" : join("[N, ", of_row[0], "]"));
    return dims[0];
  }

  void check_first(int64_t all) const {
    const auto first = values<int64_t>("first");
    check(first[0] == 0 && first.back() == all, path_, ": 'first' goes from ", first[0], " to ",
          first.back(), ", but there are ", all, " boxes");
    for (std::size_t i = 1; i < first.size(); ++i)
      check(first[i] >= first[i - 1], path_, ": 'first' descends from ", first[i - 1], " to ",
            first[i], " at picture ", i - 1);
  }

  const std::string& path_;
  Safetensors file_;
  std::string set_;
};

void check_suffix(const std::string& path) {
  check(path.ends_with(kSuffix), path, ": proposals are read from ", kSuffix,
        " files, which `lockstep test` writes for a network of proposals alone (MODEL.RPN_ONLY): "
        "its proposals.safetensors");
}

// The index in the file of each picture of the set.
std::vector<std::size_t> places_of_pictures(const StoredBoxes& stored, const std::string& path,
                                            const std::string& set, const Annotations& of) {
  check(stored.set() == set, path, ": holds proposals for '", printable(stored.set()),
        "', not for '", set, "'");
  std::unordered_map<int64_t, std::size_t> places;
  for (std::size_t i = 0; i < stored.ids().size(); ++i)
    check(places.emplace(stored.ids()[i], i).second, path, ": has image ", stored.ids()[i],
          " twice");
  std::vector<std::size_t> of_pictures;
  for (const CocoImage& image : of.images) {
    const auto found = places.find(image.id);
    check(found != places.end(), path, ": has no image ", image.id, ", which ", of.path,
          " has; are these proposals of another data set?");
    of_pictures.push_back(found->second);
  }
  check(places.size() == of.images.size(), path, ": has ", places.size(), " images, but ", of.path,
        " has ", of.images.size(), "; are these proposals of another data set?");
  return of_pictures;
}

}  // namespace

void write_proposals(const std::string& path, const std::string& set, const Annotations& of,
                     std::span<const FoundBoxes> found) {
  check(found.size() == of.images.size(), "proposals for ", found.size(), " pictures, but ",
        of.path, " has ", of.images.size());
  std::vector<float> boxes, scores;
  std::vector<int64_t> first{0}, ids;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ids.push_back(of.images[i].id);
    for (const FoundBox& box : found[i]) {
      boxes.insert(boxes.end(), box.corners.begin(), box.corners.end());
      scores.push_back(box.score);
    }
    first.push_back(static_cast<int64_t>(scores.size()));
  }
  const auto all = static_cast<int64_t>(scores.size()), images = static_cast<int64_t>(ids.size());
  write_safetensors(path,
                    {{"boxes", tensor_of(boxes, {all, 4}, DType::float32)},
                     {"scores", tensor_of(scores, {all}, DType::float32)},
                     {"first", tensor_of(first, {images + 1}, DType::int64)},
                     {"image_ids", tensor_of(ids, {images}, DType::int64)}},
                    {{kFormatKey, kProposalFormat}, {kSet, set}});
}

std::vector<std::vector<Corners>> read_proposals(const std::string& path, const std::string& set,
                                                 const Annotations& of,
                                                 const ProposalRules& rules) {
  check_suffix(path);
  const StoredBoxes stored(path);
  const std::vector<std::size_t> places = places_of_pictures(stored, path, set, of);
  std::vector<std::vector<Corners>> proposals;
  for (std::size_t image = 0; image < places.size(); ++image)
    proposals.push_back(chosen_proposals(stored.picture(places[image]), of, image, rules));
  return proposals;
}

}  // namespace lockstep
