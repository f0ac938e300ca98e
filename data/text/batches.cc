// SPDX-License-Identifier: Apache-2.0
#include "data/text/batches.h"

#include <algorithm>

#include "graph/error.h"
#include "runtime/philox.h"

namespace lockstep {
namespace {

constexpr uint64_t kBeginnings = uint64_t{7} << 40;  // stream; others: labelled_images.cc, ..

std::vector<TextRange> places_of(const std::vector<TextRange>& ranges, int64_t length) {
  int64_t longest = 0;
  std::vector<TextRange> places;
  for (const TextRange& range : ranges) {
    longest = std::max(longest, range.size());
    if (range.size() > length) places.push_back({range.first, range.end - length});
  }
  check(!places.empty(), "the text has ", longest, " characters in a row, but a row needs ", length,
        " and the next character");
  return places;
}

}  // namespace

TextOrder::TextOrder(const std::vector<TextRange>& ranges, int64_t length, uint64_t seed)
    : ranges_(places_of(ranges, length)),
      length_(length),
      starts_(characters_of(ranges_)),
      slots_((starts_ - 1) / length + 1),
      seed_(seed),
      order_(slots_, seed) {}

int64_t TextOrder::start(int64_t number) const {
  const auto pass = static_cast<uint64_t>(number / slots_);
  const int64_t beginning = PhiloxSequence(seed_, kBeginnings + pass).below(starts_);
  int64_t place = (order_.at(number) * length_ + beginning) % starts_;
  for (const TextRange& range : ranges_) {
    if (place < range.size()) return range.first + place;
    place -= range.size();
  }
  fail("internal: row ", number, " has no position in the text");
}

TextBatches::TextBatches(const std::vector<uint8_t>& text, const std::vector<TextRange>& ranges,
                         const TextBatchOptions& options)
    : text_(text), options_(options), order_(ranges, options.length, options.seed) {
  check(options.batch > 0, "a batch of ", options.batch, " rows");
  if (options_.count < 0) options_.count = options.batch - options.first;
  check(options_.count > 0 && options_.first + options_.count <= options.batch, "rows ",
        options_.first, " to ", options_.first + options_.count, " of a batch of ", options.batch);
  const TensorDesc rows{DType::int64, {options_.count, options_.length}};
  forms_ = {{{options_.characters, rows}, {options_.labels, rows}}};
}

void TextBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const int64_t start = order_.start(step * options_.batch + options_.first + item);
  int64_t* characters = tensors[0].as<int64_t>() + item * options_.length;
  int64_t* labels = tensors[1].as<int64_t>() + item * options_.length;
  for (int64_t i = 0; i < options_.length; ++i) {
    characters[i] = text_[start + i];
    labels[i] = text_[start + i + 1];
  }
}

}  // namespace lockstep
