#include "runtime/feeds.h"

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

Rows rows_of_share(int64_t batch, int64_t share, int64_t shares) {
  const int64_t first = batch * share / shares;
  return {first, batch * (share + 1) / shares - first};
}

Feeds::Feeds(const TrainingModel& model, const WholeRun& whole)
    : model_(model),
      whole_(whole),
      set_(model.inputs.size(), false),
      set_anew_(model.inputs.size(), false),
      tensors_(model.inputs.size() * static_cast<std::size_t>(model.replicas)) {
  if (whole_.replicas == 0) whole_.replicas = model.replicas;
  for (const StepInput& input : model.inputs) parts_ = std::max(parts_, input.part + 1);
}

// Of an input that is one number.
TensorDesc Feeds::desc_of(std::size_t input) const {
  const TensorType& type = model_.step.type(model_.step.at(model_.inputs[input].values[0]));
  check(type.dtype == DType::float32 && (type.shape.empty() || fits(type.shape, {1})), "'",
        model_.inputs[input].name, "' is ", type, ", should be one number");
  return {type.dtype, type.shape.empty() ? Dims{} : Dims{1}};
}

Rows Feeds::rows_of(int64_t batch, int64_t replica, int part) const {
  return BatchShares{batch, whole_.replicas, parts_}.rows(model_.first_replica + replica, part);
}

void Feeds::set(std::string_view name, const Tensor& rows) {
  bool found = false;
  for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
    const StepInput& input = model_.inputs[i];
    if (input.role != Role::data || input.feed() != name) continue;
    check(!set_anew_[i], "'", name, "' is fed twice for one step");
    set_part(i, rows);
    set_[i] = set_anew_[i] = found = true;
  }
  check(found, "the step has no input '", name, "'; it is fed ", feeds_known());
}

void Feeds::set_part(std::size_t number, const Tensor& rows) {
  const StepInput& input = model_.inputs[number];
  const TensorType& type = model_.step.type(model_.step.at(input.values[0]));
  check(type.dtype == rows.desc.dtype, "'", input.feed(), "' is ", type, ", but is fed ",
        rows.desc);
  const auto replicas = static_cast<std::size_t>(model_.replicas);
  const Dims& dims = rows.desc.dims;
  const Shape one_row =
      type.shape.empty() ? Shape{} : Shape(type.shape.begin() + 1, type.shape.end());
  const int64_t shares = model_.replicas * parts_;
  const bool shared_out = !type.shape.empty() && !dims.empty() &&
                          (!type.shape[0].known() || type.shape[0].size() * shares == dims[0]);
  if (!shared_out) {
    check(fits(type.shape, dims), "'", input.feed(), "' is ", type,
          type.shape.empty() || shares == 1 ? "" : " for each share", ", but is fed ", rows.desc,
          shares == 1 ? "" : join(" for ", shares, " shares"));
    for (std::size_t k = 0; k < replicas; ++k) tensors_[number * replicas + k] = rows;
    return;
  }
  check(fits(one_row, Dims(dims.begin() + 1, dims.end())), "'", input.feed(), "' is ", type,
        ", but is fed ", rows.desc);
  const int64_t batch = whole_.batch > 0 ? whole_.batch : dims[0];
  const Rows last = rows_of(batch, model_.replicas - 1, parts_ - 1);
  const int64_t begin = rows_of(batch, 0, 0).first, end = last.first + last.count;
  check(end - begin == dims[0], "'", input.feed(), "' is fed ", dims[0], " rows; of a batch of ",
        batch, " this process's replicas take ", end - begin);
  check(has(Role::weight) || batch % (whole_.replicas * parts_) == 0, "'", input.feed(),
        "' is fed ", batch, " rows, which do not divide over ", whole_.replicas * parts_,
        " shares; build the model with `weighted` for shares that differ");
  const std::size_t row_bytes =
      dims[0] == 0 ? 0 : rows.desc.bytes() / static_cast<std::size_t>(dims[0]);
  for (std::size_t k = 0; k < replicas; ++k) {
    const Rows own = rows_of(batch, static_cast<int64_t>(k), input.part);
    Tensor& tensor = tensors_[number * replicas + k] = rows;
    tensor.desc.dims[0] = own.count;
    tensor.data = rows.as<std::byte>() + static_cast<std::size_t>(own.first - begin) * row_bytes;
  }
  if (batch_ != batch) weigh(batch_ = batch);
}

// Each loss counts as its share's part of the batch.
void Feeds::weigh(int64_t batch) {
  const auto replicas = static_cast<std::size_t>(model_.replicas);
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
  const auto replicas = static_cast<std::size_t>(model_.replicas);
  check(has(role), "the step is fed no ", name_of(role));
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
  check(missing.empty(), "the step was not fed ", missing);
  set_anew_.assign(set_anew_.size(), false);
  return tensors_;
}

}  // namespace lockstep
