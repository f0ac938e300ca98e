// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/streams.h"
#include "data/text/order.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

std::vector<TextRange> places_of(const std::vector<TextRange>& ranges, int64_t length) {
  check(length > 0, "rows of ", length, " characters; a row should have at least 1");
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
  const int64_t beginning = PhiloxSequence(seed_, streams::kTextBeginnings + pass).below(starts_);
  int64_t place = (order_.at(number) * length_ + beginning) % starts_;
  for (const TextRange& range : ranges_) {
    if (place < range.size()) return range.first + place;
    place -= range.size();
  }
  fail("internal: row ", number, " has no position in the text");
}

struct TextBatches::Members {
  Members(const std::vector<uint8_t>& text, const std::vector<TextRange>& ranges,
          const TextBatchOptions& options)
      : text(text), options(options), order(ranges, options.length, options.seed) {}

  const std::vector<uint8_t>& text;
  TextBatchOptions options;
  TextOrder order;
  std::vector<MinibatchForm> forms;
};

TextBatches::TextBatches(const std::vector<uint8_t>& text, const std::vector<TextRange>& ranges,
                         const TextBatchOptions& options)
    : members_(std::make_unique<Members>(text, ranges, options)) {
  for (const TextRange& range : ranges)
    check(range.first >= 0 && range.end <= static_cast<int64_t>(text.size()), "characters ",
          range.first, " to ", range.end, " of a text of ", text.size());
  check(options.batch > 0, "the batch has ", options.batch, " rows, should have at least 1");
  const int64_t first = options.first;
  int64_t& count = members_->options.count;
  if (count < 0) count = options.batch - first;
  check(count > 0 && first + count <= options.batch, "rows ", first, " to ", first + count,
        " are not within a batch of ", options.batch);
  const TensorDesc rows{DType::int64, {count, options.length}};
  members_->forms = {{{options.characters, rows}, {options.labels, rows}}};
}
TextBatches::~TextBatches() = default;

const std::vector<MinibatchForm>& TextBatches::forms() const { return members_->forms; }
int64_t TextBatches::items() const { return members_->options.count; }

void TextBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const TextBatchOptions& options = members_->options;
  const std::vector<uint8_t>& text = members_->text;
  const int64_t start = members_->order.start(step * options.batch + options.first + item);
  int64_t* characters = tensors[0].as<int64_t>() + item * options.length;
  int64_t* labels = tensors[1].as<int64_t>() + item * options.length;
  for (int64_t i = 0; i < options.length; ++i) {
    characters[i] = text[start + i];
    labels[i] = text[start + i + 1];
  }
}

}  // namespace lockstep
