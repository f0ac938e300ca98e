// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/bound_feeds.h"

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kAnySize = -1;

std::string source_of(const ArrayFeed& feed) {
  return feed.source.empty() ? feed.name : feed.source;
}

// The ragged array of a mask; "": not the name of a mask.
std::string masked_array(const std::string& source) {
  return source.ends_with(kMaskSuffix) ? source.substr(0, source.size() - kMaskSuffix.size()) : "";
}

std::string lengths_of(const std::string& array) { return array + std::string(kLengthsSuffix); }

// A feed for each array; the lengths of a ragged array are no feed.
std::vector<ArrayFeed> all_feeds(const ArrayCollection& all) {
  std::vector<ArrayFeed> feeds;
  for (const auto& [name, array] : all.arrays()) {
    const bool is_lengths = name.ends_with(kLengthsSuffix) &&
                            all.has(name.substr(0, name.size() - kLengthsSuffix.size()));
    if (!is_lengths) feeds.push_back({.name = name});
  }
  return feeds;
}

Dims without_ones(const Dims& dims) {
  Dims rest = dims;
  std::erase(rest, 1);
  return rest;
}

bool matches(const Dims& stored, const Dims& wanted) {
  return std::ranges::equal(stored, wanted, [](int64_t size, int64_t asked) {
    return size == asked || asked == kAnySize;
  });
}

// The dimensions of an example for a feed that asks for `wanted`; nothing: they do not fit.
std::optional<Dims> fitted_dims(const Dims& stored, const Dims& wanted, bool is_columns) {
  if (matches(stored, wanted)) return stored;
  const bool is_known = std::ranges::find(wanted, kAnySize) == wanted.end();
  if (is_columns && is_known && element_count(stored) == element_count(wanted)) return wanted;
  const Dims rest = without_ones(stored);
  if (!matches(rest, without_ones(wanted))) return std::nullopt;
  Dims dims = wanted;
  auto next = rest.begin();
  for (int64_t& size : dims)
    if (size != 1) size = *next++;
  return dims;
}

class FeedBinder {
 public:
  FeedBinder(const ArraySetOptions& options, const ArrayCollection& all)
      : options_(options), all_(all) {}

  BoundFeeds bind() {
    const std::vector<ArrayFeed> feeds = options_.feeds.empty() ? all_feeds(all_) : options_.feeds;
    check(!feeds.empty(), options_.path, ": has no arrays");
    for (const ArrayFeed& feed : feeds) bound_.feeds.push_back(bind_one(feed));
    count_examples();
    choose_buckets(feeds);
    check_longest();
    return std::move(bound_);
  }

 private:
  const StoredArray& array_of(const ArrayFeed& feed, const std::string& source) const {
    const auto found = all_.arrays().find(source);
    if (found != all_.arrays().end()) return found->second;
    const std::string masked = masked_array(source);
    if (!masked.empty())
      fail(options_.path, ": has no array '", source, "' for '", feed.name, "', and no '",
           lengths_of(masked), "' from which to make this mask; there are: ", all_.names());
    fail(options_.path, ": has no array '", source, "'",
         source == feed.name ? std::string() : join(" for '", feed.name, "'"),
         "; there are: ", all_.names());
  }

  const RaggedLengths* lengths_of_array(const std::string& name) {
    const auto stored = all_.arrays().find(lengths_of(name));
    if (stored == all_.arrays().end()) return nullptr;
    std::unique_ptr<RaggedLengths>& lengths = bound_.lengths[name];
    if (!lengths) lengths = std::make_unique<RaggedLengths>(stored->second);
    return lengths.get();
  }

  BoundFeed bind_one(const ArrayFeed& feed) {
    const std::string source = source_of(feed), masked = masked_array(source);
    BoundFeed bound;
    bound.facts = {.name = feed.name, .source = source, .dtype = feed.dtype};
    bound.is_mask = !masked.empty() && !all_.has(source) && all_.has(lengths_of(masked));
    bound.array = bound.is_mask ? &all_.arrays().at(lengths_of(masked)) : &array_of(feed, source);
    bound.lengths = lengths_of_array(bound.is_mask ? masked : source);
    bound.facts.file = bound.array->file();
    bound.facts.is_ragged = bound.lengths != nullptr;
    if (bound.is_mask) {
      if (feed.dtype == DType::undefined) bound.facts.dtype = DType::float32;
      bound.convert = array_conversion(DType::boolean, bound.facts.dtype);
      bound.facts.dims = {kAnySize};
    } else {
      choose_type(feed, bound);
      bound.facts.dims = dims_of(bound);
    }
    check_dims(feed, bound);
    bound.inner = bound.facts.dims;
    if (bound.lengths) bound.inner.erase(bound.inner.begin());
    bound.padding = padding_of(feed, bound.facts.dtype);
    return bound;
  }

  void choose_type(const ArrayFeed& feed, BoundFeed& bound) const {
    const DType stored = bound.array->dtype();
    if (feed.dtype == DType::undefined) bound.facts.dtype = stored;
    bound.convert = array_conversion(stored, bound.facts.dtype);
    check(bound.convert != nullptr, bound.facts.file, ": array '", bound.facts.source, "' is ",
          stored, ", but the network asks for ", feed.dtype, " in '", feed.name,
          "'; numbers with fractions do not become integers. Save x.astype(numpy.", feed.dtype,
          ") if these have none");
  }

  // The dimensions of an example as stored.
  Dims dims_of(BoundFeed& bound) const {
    Dims dims = bound.array->row();
    if (!bound.lengths) return dims;
    const StoredArray& stored = all_.arrays().at(lengths_of(bound.facts.source));
    bound.is_joined = are_joined(*bound.array, stored, *bound.lengths);
    if (!bound.is_joined) dims.erase(dims.begin());
    dims.insert(dims.begin(), kAnySize);
    return dims;
  }

  void check_dims(const ArrayFeed& feed, BoundFeed& bound) const {
    if (!feed.dims) return;
    Dims stored = bound.facts.dims, wanted = *feed.dims;
    const std::string begin =
        join(bound.facts.file, ": array '", bound.facts.source, "' has examples of ", stored,
             ", but the network asks for ", wanted, " in '", feed.name, "'");
    if (bound.lengths) {
      check(!wanted.empty(), begin);
      stored.erase(stored.begin());
      wanted.erase(wanted.begin());
    }
    const bool is_columns = bound.facts.file.ends_with(".csv");
    std::optional<Dims> dims = fitted_dims(stored, wanted, is_columns);
    check(dims.has_value(), begin);
    if (bound.lengths) dims->insert(dims->begin(), kAnySize);
    bound.facts.dims = *dims;
  }

  static std::vector<std::byte> padding_of(const ArrayFeed& feed, DType type) {
    std::vector<std::byte> padding(size_of(type));
    const bool is_whole =
        feed.padding == std::floor(feed.padding) && std::abs(feed.padding) <= 0x1p53;
    const auto whole = static_cast<int64_t>(is_whole ? feed.padding : 0);
    const int64_t bad =
        is_whole ? array_conversion(DType::int64, type)(reinterpret_cast<const std::byte*>(&whole),
                                                        padding.data(), 1)
        : is_floating(type)
            ? array_conversion(DType::float64, type)(
                  reinterpret_cast<const std::byte*>(&feed.padding), padding.data(), 1)
            : 0;
    check(bad < 0, "'", feed.name, "' is ", type, ", which has no padding value ", feed.padding);
    return padding;
  }

  // Throws, naming the first feed that has another number of examples.
  void count_examples() {
    const auto count = [](const BoundFeed& feed) {
      return feed.lengths ? feed.lengths->examples() : feed.array->rows();
    };
    const BoundFeed& first = bound_.feeds.front();
    bound_.examples = count(first);
    for (const BoundFeed& feed : bound_.feeds)
      check(count(feed) == bound_.examples, first.facts.file, ": array '", first.facts.source,
            "' has ", bound_.examples, " examples, but ", feed.facts.file, ": array '",
            feed.facts.source, "' has ", count(feed), "; every feed needs the same number");
    check(bound_.examples > 0, first.facts.file, ": array '", first.facts.source,
          "' has no examples");
  }

  // A network may ask for one length.
  std::vector<int64_t> buckets_of(const ArrayFeed& feed, const BoundFeed& bound) const {
    std::vector<int64_t> buckets = feed.buckets.empty() ? options_.buckets : feed.buckets;
    if (feed.dims && feed.dims->front() != kAnySize) {
      const int64_t length = feed.dims->front();
      check(buckets.empty() || std::ranges::count(buckets, length) == std::ssize(buckets), "'",
            feed.name, "' has the length ", length, " in the network, but the buckets ", buckets);
      if (buckets.empty()) buckets = {length};
    }
    if (buckets.empty()) buckets = {std::max<int64_t>(1, bound.lengths->longest())};
    check(buckets.front() > 0 && std::ranges::is_sorted(buckets), "the buckets of '", feed.name,
          "' are ", buckets, "; they should be ascending lengths");
    return buckets;
  }

  void choose_buckets(const std::vector<ArrayFeed>& feeds) {
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      BoundFeed& bound = bound_.feeds[i];
      if (!bound.lengths) continue;
      ArrayFeed feed = feeds[i];
      // A mask has the lengths of its array.
      for (const ArrayFeed& other : feeds)
        if (bound.is_mask && source_of(other) == masked_array(bound.facts.source)) {
          if (feed.buckets.empty()) feed.buckets = other.buckets;
          if (feed.dims && other.dims && !other.dims->empty() && feed.dims->front() == kAnySize)
            feed.dims->front() = other.dims->front();
          if (!feed.dims && other.dims && !other.dims->empty()) feed.dims = {{other.dims->front()}};
        }
      bound.buckets = buckets_of(feed, bound);
      bound_.buckets = std::max(bound_.buckets, bound.buckets.size());
    }
    for (BoundFeed& bound : bound_.feeds) {
      if (!bound.lengths) continue;
      if (bound.buckets.size() == 1) bound.buckets.resize(bound_.buckets, bound.buckets.front());
      check(bound.buckets.size() == bound_.buckets, "'", bound.facts.name, "' has ",
            bound.buckets.size(), " buckets, but another feed has ", bound_.buckets,
            "; the i-th buckets of all feeds belong together");
    }
  }

  void check_longest() const {
    for (const BoundFeed& bound : bound_.feeds)
      check(!bound.lengths || bound.lengths->longest() <= bound.buckets.back(),
            bound.lengths ? bound.array->file() : std::string(), ": example ",
            bound.lengths ? bound.lengths->longest_example() : 0, " of array '", bound.facts.source,
            "' has the length ", bound.lengths ? bound.lengths->longest() : 0,
            ", more than the last bucket, ", bound.lengths ? bound.buckets.back() : 0);
  }

  const ArraySetOptions& options_;
  const ArrayCollection& all_;
  BoundFeeds bound_;
};

}  // namespace

std::set<std::string> arrays_of_feeds(const std::vector<ArrayFeed>& feeds) {
  std::set<std::string> names;
  for (const ArrayFeed& feed : feeds) {
    const std::string source = source_of(feed), masked = masked_array(source);
    names.insert({source, lengths_of(source)});
    if (!masked.empty()) names.insert(lengths_of(masked));
  }
  return names;
}

std::map<std::string, DType> types_of_feeds(const std::vector<ArrayFeed>& feeds) {
  std::map<std::string, DType> types;
  for (const ArrayFeed& feed : feeds) {
    const auto [entry, is_new] = types.emplace(source_of(feed), feed.dtype);
    if (!is_new && entry->second != feed.dtype) entry->second = DType::undefined;
  }
  return types;
}

BoundFeeds bind_feeds(const ArraySetOptions& options, const ArrayCollection& all) {
  return FeedBinder(options, all).bind();
}

}  // namespace lockstep
