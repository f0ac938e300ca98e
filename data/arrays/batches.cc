// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <numeric>

#include "data/arrays/arrays.h"
#include "data/labelled_images.h"
#include "graph/limits.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr uint64_t kGatherStream = uint64_t{10} << 40;  // others: labelled_images.cc, ..

}  // namespace

struct ArrayBatches::Members {
  // The examples of `gather` consecutive minibatches.
  struct Window {
    int64_t number = -1;
    std::vector<int64_t> examples;
  };

  Members(const ArraySet& set, const ArrayBatchOptions& options)
      : set(set), options(options), order(set.size(), options.seed) {}

  int64_t in_order(int64_t position) const {
    return options.shuffle ? order.at(position) : position % set.size();
  }
  // Calls `use` for the examples of the step's rows from `first` on.
  template <class Use>
  void for_examples(int64_t step, int64_t first, int64_t count, const Use& use) const;
  void arrange(int64_t number, Window& window) const;

  const ArraySet& set;
  ArrayBatchOptions options;
  EpochOrder order;
  std::vector<MinibatchForm> forms;
  mutable std::mutex mutex;
  mutable std::array<Window, 2> windows;  // steps read ahead may be in the next window
};

template <class Use>
void ArrayBatches::Members::for_examples(int64_t step, int64_t first, int64_t count,
                                         const Use& use) const {
  const int64_t start = step * options.batch + first;
  if (options.gather == 1) {
    for (int64_t i = 0; i < count; ++i) use(in_order(start + i));
    return;
  }
  const int64_t number = step / options.gather;
  const int64_t at = start - number * options.gather * options.batch;
  const std::lock_guard lock(mutex);
  Window& window = windows[number % 2];
  if (window.number != number) arrange(number, window);
  for (int64_t i = 0; i < count; ++i) use(window.examples[at + i]);
}

// Sorts the examples by form, cuts them into minibatches and puts these into a random order.
// Examples of one form keep the order of the epoch.
void ArrayBatches::Members::arrange(int64_t number, Window& window) const {
  const int64_t size = options.gather * options.batch;
  std::vector<std::pair<std::size_t, int64_t>> sorted;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t example = in_order(number * size + i);
    sorted.emplace_back(set.form_of(example), example);
  }
  std::ranges::stable_sort(sorted, {}, [](const auto& entry) { return entry.first; });
  std::vector<int64_t> minibatches(options.gather);
  std::iota(minibatches.begin(), minibatches.end(), 0);
  shuffle(minibatches, options.seed, kGatherStream + static_cast<uint64_t>(number));
  window.examples.clear();
  for (const int64_t minibatch : minibatches)
    for (int64_t i = 0; i < options.batch; ++i)
      window.examples.push_back(sorted[minibatch * options.batch + i].second);
  window.number = number;
}

ArrayBatches::ArrayBatches(const ArraySet& set, const ArrayBatchOptions& options)
    : members_(std::make_unique<Members>(set, options)) {
  check(set.size() <= std::numeric_limits<int32_t>::max(), "a set of ", set.size(),
        " examples; at most 2147483647 are supported");
  check(options.batch > 0, "the batch has ", options.batch, " examples, should have at least 1");
  check(options.gather > 0, "examples of ", options.gather,
        " minibatches are gathered, should be of at least 1");
  check(options.gather == 1 || options.shuffle,
        "examples are gathered by length, but should stay in the order of the files");
  int64_t& count = members_->options.count;
  if (count < 0) count = options.batch - options.first;
  check(options.first >= 0 && count > 0 && options.first + count <= options.batch, "examples ",
        options.first, " to ", options.first + count, " are not within a batch of ", options.batch);
  members_->forms = set.forms(count);
  std::size_t bytes = 0;
  for (const NamedDesc& tensor : members_->forms.back())
    bytes = saturating_add(bytes, tensor.desc.bytes());
  constexpr std::size_t kKept = 4;  // read ahead, in use, and where a step reads them
  check_memory(bytes > SIZE_MAX / kKept ? SIZE_MAX : kKept * bytes,
               join("minibatches of ", options.batch, " examples"));
}
ArrayBatches::~ArrayBatches() = default;

const std::vector<MinibatchForm>& ArrayBatches::forms() const { return members_->forms; }
int64_t ArrayBatches::items() const { return members_->options.count; }

std::size_t ArrayBatches::form(int64_t step) const {
  if (members_->forms.size() == 1) return 0;
  std::size_t form = 0;
  members_->for_examples(step, 0, members_->options.batch, [&](int64_t example) {
    form = std::max(form, members_->set.form_of(example));
  });
  return form;
}

void ArrayBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  int64_t chosen = 0;
  members_->for_examples(step, members_->options.first + item, 1,
                         [&](int64_t example) { chosen = example; });
  members_->set.read(chosen, item, tensors);
}

std::vector<int64_t> ArrayBatches::examples_of(int64_t step) const {
  std::vector<int64_t> examples;
  members_->for_examples(step, 0, members_->options.batch,
                         [&](int64_t example) { examples.push_back(example); });
  return examples;
}

}  // namespace lockstep
