// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "data/arrays/arrays.h"
#include "data/batch_rows.h"
#include "data/epoch_order.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Short rows are read together, as an item: the most bytes of an item, and the items of a large
// minibatch, which the reading threads share.
constexpr int64_t kItemBytes = 64 << 10, kItems = 32;

}  // namespace

struct ArrayBatches::Members {
  Members(const ArraySet& set, const ArrayBatchOptions& options)
      : set(set), options(options), order(set.size(), options.seed, options.shuffle) {}

  // The example of a row of the step of all processes.
  int64_t example_at(int64_t step, int64_t row) const {
    return order.at(step * options.batch + row);
  }

  const ArraySet& set;
  ArrayBatchOptions options;
  EpochOrder order;
  std::vector<MinibatchForm> forms;
  int64_t item_rows = 1;
};

ArrayBatches::ArrayBatches(const ArraySet& set, const ArrayBatchOptions& options)
    : members_(std::make_unique<Members>(set, options)) {
  check(set.size() <= std::numeric_limits<int32_t>::max(), "a set of ", set.size(),
        " examples; at most 2147483647 are supported");
  int64_t& count = members_->options.count;
  count = rows_in_batch(options.batch, options.first, count, "examples");
  members_->forms = set.forms(count);
  std::size_t bytes = 0;
  for (const NamedDesc& tensor : members_->forms.back())
    bytes = saturating_add(bytes, tensor.desc.bytes());
  constexpr std::size_t kKept = 4;  // read ahead, in use, and where a step reads them
  const auto row_bytes = static_cast<int64_t>(bytes) / count;
  members_->item_rows = std::clamp<int64_t>(kItemBytes / std::max<int64_t>(row_bytes, 1), 1,
                                            std::max<int64_t>(count / kItems, 1));
  check_memory(bytes > SIZE_MAX / kKept ? SIZE_MAX : kKept * bytes,
               join("minibatches of ", options.batch, " examples"));
}
ArrayBatches::~ArrayBatches() = default;

const std::vector<MinibatchForm>& ArrayBatches::forms() const { return members_->forms; }
int64_t ArrayBatches::items() const {
  return (members_->options.count + members_->item_rows - 1) / members_->item_rows;
}

std::size_t ArrayBatches::form(int64_t step) const {
  if (members_->forms.size() == 1) return 0;
  std::size_t form = 0;
  for (const int64_t example : examples_of(step))
    form = std::max(form, members_->set.form_of(example));
  return form;
}

void ArrayBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const int64_t row = item * members_->item_rows;
  const int64_t count = std::min(members_->item_rows, members_->options.count - row);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < count; ++i)
    chosen.push_back(members_->example_at(step, members_->options.first + row + i));
  members_->set.read(chosen, row, tensors);
}

std::vector<int64_t> ArrayBatches::examples_of(int64_t step) const {
  std::vector<int64_t> examples;
  for (int64_t row = 0; row < members_->options.batch; ++row)
    examples.push_back(members_->example_at(step, row));
  return examples;
}

}  // namespace lockstep
