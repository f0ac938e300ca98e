// SPDX-License-Identifier: Apache-2.0
#include "lockstep/feeds.h"

#include <algorithm>
#include <set>

namespace lockstep {
namespace {

bool fits(const Shape& declared, const Dims& dims) {
  if (declared.size() != dims.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (declared[i].known() && declared[i].size() != dims[i]) return false;
  return true;
}

}  // namespace

Tensor rows_from(const Tensor& tensor, const Rows& rows) {
  Tensor some = tensor;
  const std::size_t row_bytes = tensor.desc.bytes() / tensor.desc.dims[0];
  some.desc.dims[0] = rows.count;
  some.data = tensor.as<std::byte>() + rows.first * row_bytes;
  return some;
}

Rows rows_of_share(int64_t batch, int64_t share, int64_t shares) {
  const int64_t first = batch * share / shares;
  return {first, batch * (share + 1) / shares - first};
}

Feeds::Feeds(const TrainingModel& model, const WholeRun& whole)
    : model_(model),
      whole_(whole),
      whole_replicas_(std::max(model.whole_replicas, model.replicas)),
      set_(model.inputs.size(), false),
      set_anew_(model.inputs.size(), false),
      batches_(model.inputs.size(), 0),
      tensors_(model.inputs.size() * model.replicas),
      shares_of_batch_(model.replicas, 1.F / static_cast<float>(whole_replicas_)) {
  for (const StepInput& input : model.inputs) {
    parts_ = std::max(parts_, input.part + 1);
    const Shape& shape = model.step.shape(model.step.at(input.values[0]));
    if (input.role != Role::data || shape.empty()) continue;
    any_open_ = any_open_ || !shape[0].known();
    if (fixed_rows_ < 0 && shape[0].known() && shape[0].size() > 0) fixed_rows_ = shape[0].size();
  }
}

// Returns the type and shape of a scalar input.
TensorDesc Feeds::desc_of(std::size_t input) const {
  const TensorType& type = model_.step.type(model_.step.at(model_.inputs[input].values[0]));
  check(type.dtype == DType::float32 && (type.shape.empty() || fits(type.shape, {1})), "'",
        model_.inputs[input].name, "' is ", type, ", should be one number");
  return {type.dtype, type.shape.empty() ? Dims{} : Dims{1}};
}

Rows Feeds::rows_of(int64_t batch, int64_t replica, int part) const {
  return BatchShares{batch, whole_replicas_, parts_}.rows(model_.first_replica + replica, part);
}

void Feeds::set(std::string_view name, const Tensor& rows) {
  bool found = false;
  for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
    const StepInput& input = model_.inputs[i];
    if (input.role != Role::data || input.feed() != name) continue;
    check(!set_anew_[i], "'", name, "' is set twice for one step");
    set_part(i, rows);
    set_[i] = set_anew_[i] = found = true;
  }
  check(found, "the step has no input '", name, "'; its inputs: ", feeds_known());
}

void Feeds::set_part(std::size_t number, const Tensor& rows) {
  const StepInput& input = model_.inputs[number];
  const TensorType& type = model_.step.type(model_.step.at(input.values[0]));
  const Shape& declared = type.shape;
  const Dims& dims = rows.desc.dims;
  check(type.dtype == rows.desc.dtype, "'", input.feed(), "' is ", type, ", but is fed ",
        rows.desc);
  const int64_t shares = model_.replicas * parts_;
  const bool has_rows =
      !declared.empty() && declared.size() == dims.size() &&
      fits({declared.begin() + 1, declared.end()}, {dims.begin() + 1, dims.end()});
  if (has_rows && !declared[0].known()) return set_share_of_batch(number, rows);
  // A file may declare its batch size. An empty tensor has no rows to divide.
  if (has_rows && dims[0] > 0 && declared[0].size() * shares == dims[0])
    return any_open_ || declared[0].size() != fixed_rows_ ? set_equal_parts(number, rows)
                                                          : set_share_of_batch(number, rows);
  check(fits(declared, dims), "'", input.feed(), "' is ", type,
        declared.empty() || shares == 1 ? "" : " for each share", ", but is fed ", rows.desc,
        shares == 1 ? "" : join(" for ", shares, " shares"));
  set_whole(number, rows);
}

void Feeds::set_whole(std::size_t number, const Tensor& rows) {
  std::fill_n(tensors_.begin() + static_cast<std::ptrdiff_t>(number * model_.replicas),
              model_.replicas, rows);
}

void Feeds::set_equal_parts(std::size_t number, const Tensor& rows) {
  const BatchShares shares{rows.desc.dims[0], model_.replicas, parts_};
  for (int k = 0; k < model_.replicas; ++k)
    tensors_[number * model_.replicas + k] =
        rows_from(rows, shares.rows(k, model_.inputs[number].part));
}

int64_t Feeds::batch_with(const std::string& feed, int64_t rows) const {
  if (whole_.batch > 0) return whole_.batch;
  if (whole_replicas_ == model_.replicas) return rows;
  check(!has(Role::weight), "'", feed, "' is fed this process's rows of a batch whose shares may ",
        "differ; give the size of the batch: Feeds(model, {.batch = ..})");
  return rows / model_.replicas * whole_replicas_;
}

void Feeds::set_share_of_batch(std::size_t number, const Tensor& rows) {
  const StepInput& input = model_.inputs[number];
  const int64_t given = rows.desc.dims[0];
  check(given > 0, "'", input.feed(), "' is fed no rows");
  const int64_t batch = batch_with(input.feed(), given);
  const Rows last = rows_of(batch, model_.replicas - 1, parts_ - 1);
  const int64_t begin = rows_of(batch, 0, 0).first, end = last.first + last.count;
  check(end - begin == given, "'", input.feed(), "' is fed ", given, " rows, but of a batch of ",
        batch, " this process's replicas take ", end - begin);
  check(has(Role::weight) || batch % (whole_replicas_ * parts_) == 0, "'", input.feed(),
        "' is fed ", batch, " rows, which cannot be split equally over ", whole_replicas_ * parts_,
        " shares; for unequal shares, build the model with `weighted`");
  for (int k = 0; k < model_.replicas; ++k) {
    const Rows own = rows_of(batch, k, input.part);
    tensors_[number * model_.replicas + k] = rows_from(rows, {own.first - begin, own.count});
  }
  batches_[number] = batch;
  if (batch_ != batch) weigh(batch_ = batch);
}

// Throws if inputs have different batch sizes: the batch size determines the weights of the losses.
void Feeds::check_one_batch() const {
  if (!has(Role::weight)) return;
  std::size_t first = 0;
  while (first < batches_.size() && batches_[first] == 0) ++first;
  for (std::size_t i = first + 1; i < batches_.size(); ++i)
    check(batches_[i] == 0 || batches_[i] == batches_[first], "'", model_.inputs[i].feed(),
          "' is fed ", batches_[i], " rows, '", model_.inputs[first].feed(), "' ", batches_[first],
          "; the losses are weighted by rows, so all inputs need the same number of rows");
}

// Weights each loss by its share of the batch.
void Feeds::weigh(int64_t batch) {
  const std::size_t replicas = model_.replicas;
  for (int k = 0; k < model_.replicas; ++k) {
    const Rows last = rows_of(batch, k, parts_ - 1);
    const int64_t own = last.first + last.count - rows_of(batch, k, 0).first;
    shares_of_batch_[k] = static_cast<float>(own) / static_cast<float>(batch);
  }
  for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
    if (model_.inputs[i].role != Role::weight) continue;
    for (std::size_t k = 0; k < replicas; ++k) {
      const Rows rows = rows_of(batch, static_cast<int64_t>(k), model_.inputs[i].part);
      Tensor& weight = tensors_[i * replicas + k];
      if (!weight.data) weight = {desc_of(i), &numbers_.emplace_back()};
      *weight.as<float>() = static_cast<float>(rows.count) / static_cast<float>(batch);
    }
    set_[i] = true;
  }
}

void Feeds::set(Role role, float value) {
  const std::size_t replicas = model_.replicas;
  check(role == Role::rate || role == Role::correction, "the step's ", name_of(role),
        role == Role::data ? " is set by its name" : " follows from the rows that are set");
  check(has(role), "the step has no input for the ", name_of(role));
  for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
    if (model_.inputs[i].role != role) continue;
    for (std::size_t k = 0; k < replicas; ++k) {
      Tensor& number = tensors_[i * replicas + k];
      if (!number.data) number = {desc_of(i), &numbers_.emplace_back()};
      *number.as<float>() = value;
    }
    set_[i] = true;
  }
}

bool Feeds::has(Role role) const {
  return std::any_of(model_.inputs.begin(), model_.inputs.end(),
                     [&](const StepInput& input) { return input.role == role; });
}

std::string Feeds::feeds_known() const {
  std::string names;
  std::set<std::string> seen;
  for (const StepInput& input : model_.inputs)
    if (input.role == Role::data && seen.insert(input.feed()).second)
      names += join(names.empty() ? "" : ", ", "'", input.feed(), "'");
  return names.empty() ? "no data" : names;
}

std::span<const Tensor> Feeds::tensors() {
  std::string missing;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
    const StepInput& input = model_.inputs[i];
    if (set_[i] || !seen.insert(input.feed()).second) continue;
    missing +=
        join(missing.empty() ? "" : " and ", "'", input.feed(), "' (", name_of(input.role), ")");
  }
  check(missing.empty(), "these inputs of the step are not set: ", missing);
  check_one_batch();
  set_anew_.assign(set_anew_.size(), false);
  return tensors_;
}

}  // namespace lockstep
