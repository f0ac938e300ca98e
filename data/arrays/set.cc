// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "data/arrays/arrays.h"
#include "data/arrays/bound_feeds.h"
#include "data/long_digest.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The element's bytes, `count` times.
void fill_elements(const std::vector<std::byte>& element, std::byte* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * element.size(), element.data(), element.size());
}

// Some of the contents: the ends, and places between.
void add_samples(LongDigest& digest, const StoredBytes& bytes) {
  constexpr int64_t kSamples = 16, kSampleBytes = 4096;
  const int64_t size = bytes.size(), each = std::min(size, kSampleBytes);
  std::vector<std::byte> sample(each);
  for (int64_t i = 0; i < kSamples; ++i) {
    bytes.read((size - each) / (kSamples - 1) * i, sample);
    digest.add_list(std::span<const std::byte>(sample));
  }
  bytes.read(size - each, sample);
  digest.add_list(std::span<const std::byte>(sample));
}

}  // namespace

struct ArraySet::Members {
  explicit Members(const ArraySetOptions& options) : options(options) {}

  void read_mask(const BoundFeed& feed, int64_t example, int64_t row, const Tensor& tensor) const;
  void read_feed(const BoundFeed& feed, std::span<const int64_t> examples, int64_t row,
                 const Tensor& tensor) const;

  ArraySetOptions options;
  ArrayCollection all;
  BoundFeeds bound;
  std::vector<ArrayFacts> facts;
};

ArraySet::ArraySet(const ArraySetOptions& options) : members_(std::make_unique<Members>(options)) {
  ArrayCollection& all = members_->all;
  if (!options.feeds.empty()) all.wanted = arrays_of_feeds(options.feeds);
  all.asked = types_of_feeds(options.feeds);
  all.columns = options.columns;
  const std::size_t quarter = usable_memory() / 4;
  all.room.memory = options.memory >= 0 ? options.memory : static_cast<int64_t>(quarter);
  all.room.scratch = options.scratch;
  all.read(options.path);
  members_->bound = bind_feeds(options, all);
  all.hold();
  for (const BoundFeed& feed : members_->bound.feeds) members_->facts.push_back(feed.facts);
}
ArraySet::~ArraySet() = default;

int64_t ArraySet::size() const { return members_->bound.examples; }
const std::vector<ArrayFacts>& ArraySet::feeds() const { return members_->facts; }
bool ArraySet::is_held() const { return members_->all.is_memory(); }

std::string ArraySet::digest() const {
  LongDigest digest;
  const auto add_text = [&](const std::string& text) { digest.add_list(std::span(text)); };
  for (const BoundFeed& feed : members_->bound.feeds) {
    add_text(join(feed.facts.source, " ", feed.array->dtype(), feed.array->row(), " ",
                  feed.array->rows()));
    add_text(feed.is_mask ? "mask" : "");
  }
  for (const ArrayCollection::File& file : members_->all.files()) {
    add_text(file.name);
    digest.add(file.bytes->size());
    add_samples(digest, *file.bytes);
  }
  return join(size(), " examples, ", digest.text());
}

std::vector<MinibatchForm> ArraySet::forms(int64_t count) const {
  std::vector<MinibatchForm> forms;
  for (std::size_t bucket = 0; bucket < members_->bound.buckets; ++bucket) {
    MinibatchForm& form = forms.emplace_back();
    for (const BoundFeed& feed : members_->bound.feeds) {
      Dims dims{count};
      if (feed.lengths) dims.push_back(feed.buckets[bucket]);
      dims.insert(dims.end(), feed.inner.begin(), feed.inner.end());
      form.push_back({feed.facts.name, {feed.facts.dtype, dims}});
    }
  }
  return forms;
}

std::size_t ArraySet::form_of(int64_t example) const {
  const std::size_t last = members_->bound.buckets - 1;
  std::size_t form = 0;
  for (const BoundFeed& feed : members_->bound.feeds) {
    if (!feed.lengths) continue;
    const int64_t length = feed.lengths->length(example);
    while (form < last && feed.buckets[form] < length) ++form;
  }
  return form;
}

void ArraySet::Members::read_mask(const BoundFeed& feed, int64_t example, int64_t row,
                                  const Tensor& tensor) const {
  const int64_t places = tensor.desc.dims[1], each = size_of(feed.facts.dtype);
  const int64_t length = std::min(places, feed.lengths->length(example));
  std::byte* to = tensor.as<std::byte>() + row * places * each;
  std::vector<std::byte> one(each);
  const std::byte yes{1};
  feed.convert(&yes, one.data(), 1);
  fill_elements(one, to, length);
  std::memset(to + length * each, 0, (places - length) * each);
}

void ArraySet::Members::read_feed(const BoundFeed& feed, std::span<const int64_t> examples,
                                  int64_t row, const Tensor& tensor) const {
  const StoredArray& array = *feed.array;
  const int64_t each = size_of(feed.facts.dtype), inner = element_count(feed.inner);
  const int64_t places = feed.lengths ? tensor.desc.dims[1] * inner : inner;
  const bool is_same_type = array.dtype() == feed.facts.dtype && array.dtype() != DType::boolean;
  struct Use {
    int64_t values;     // of the example; the padding follows
    RowRange range;     // joined examples have several rows of the array each
    bool is_as_stored;  // and may be read into the tensor
  };
  std::vector<Use> uses;
  int64_t rows = 0;  // that are converted
  for (const int64_t example : examples) {
    Use use{inner, {example, 1}, false};
    if (feed.lengths) use.values = std::min(places, feed.lengths->length(example) * inner);
    if (feed.is_joined)
      use.range = {feed.lengths->start(example), use.values / std::max<int64_t>(inner, 1)};
    use.is_as_stored = is_same_type && use.range.count * array.row_values() == use.values;
    if (!use.is_as_stored) rows += use.range.count;
    uses.push_back(use);
  }
  std::vector<std::byte> stored(rows * array.row_bytes());
  std::vector<RowRange> ranges;
  std::byte *const first = tensor.as<std::byte>() + row * places * each, *free = stored.data();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    Use& use = uses[i];
    use.range.to = use.is_as_stored ? first + i * places * each : free;
    if (!use.is_as_stored) free += use.range.count * array.row_bytes();
    ranges.push_back(use.range);
  }
  array.read(ranges);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto& [values, range, is_as_stored] = uses[i];
    std::byte* const to = first + i * places * each;
    const int64_t bad = is_as_stored ? -1 : feed.convert(range.to, to, values);
    if (bad >= 0)
      fail(array.where(range.first + (feed.is_joined ? bad / std::max<int64_t>(inner, 1) : 0)),
           ": array '", array.name(), "' has a number in ", array.dtype(), " that ",
           feed.facts.dtype, " of '", feed.facts.name, "' does not have");
    fill_elements(feed.padding, to + values * each, places - values);
  }
}

void ArraySet::read(std::span<const int64_t> examples, int64_t row,
                    std::span<const Tensor> tensors) const {
  for (const int64_t example : examples)
    check(example >= 0 && example < size(), "example ", example, " of ", size());
  const std::vector<BoundFeed>& feeds = members_->bound.feeds;
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (feeds[i].is_mask)
      for (std::size_t k = 0; k < examples.size(); ++k)
        members_->read_mask(feeds[i], examples[k], row + static_cast<int64_t>(k), tensors[i]);
    else
      members_->read_feed(feeds[i], examples, row, tensors[i]);
}

void ArraySet::read(int64_t example, int64_t row, std::span<const Tensor> tensors) const {
  read(std::span(&example, 1), row, tensors);
}

std::vector<Literal> ArraySet::examples(int64_t first, int64_t count) const {
  check(first >= 0 && count >= 0 && first + count <= size(), "examples ", first, " to ",
        first + count, " of ", size());
  std::size_t form = 0;
  for (int64_t i = 0; i < count; ++i) form = std::max(form, form_of(first + i));
  std::vector<Literal> values;
  std::vector<Tensor> tensors;
  const MinibatchForm chosen = forms(count)[form];
  for (const NamedDesc& tensor : chosen) values.emplace_back(tensor.desc.dtype, tensor.desc.dims);
  for (Literal& value : values)
    tensors.push_back({{value.dtype(), value.dims()}, value.bytes().data()});
  std::vector<int64_t> all(count);
  std::iota(all.begin(), all.end(), first);
  read(all, 0, tensors);
  return values;
}

}  // namespace lockstep
