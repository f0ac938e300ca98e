#include "runtime/state/states.h"

#include <algorithm>
#include <cstring>

#include "graph/graph.h"
#include "graph/limits.h"
#include "graph/nearest.h"
#include "runtime/state/tiles.h"

namespace lockstep {

States::States(std::vector<std::string> names, std::vector<TensorDesc> descs,
               Accelerator* accelerator, const std::vector<Device>& devices)
    : names_(std::move(names)), accelerator_(accelerator) {
  std::size_t all = 0;
  for (const TensorDesc& desc : descs) all = saturating_add(all, desc.bytes());
  if (!accelerator)
    check_memory(all, join("the state of all replicas, ", names_.size(), " tensors,"));
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const std::size_t bytes = descs[i].bytes();
    memory_.push_back(accelerator ? accelerator->allocate(devices[i], bytes, std::byte{0})
                                  : allocate(bytes));
    tensors_.push_back({std::move(descs[i]), memory_.back().get()});
  }
  changed_.assign(names_.size(), 0);
}

void States::copy(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  accelerator_ ? accelerator_->copy(to, from, bytes) : void(std::memcpy(to, from, bytes));
}

int States::number_of(const std::string& name) const {
  auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    std::string near = nearest(name, names_);
    fail("unknown state '", name, "'", near.empty() ? "" : "; the nearest is '" + near + "'");
  }
  return static_cast<int>(found - names_.begin());
}

const Tensor& States::at(const std::string& name) const { return at(number_of(name)); }

Literal States::read(const std::string& name) const {
  const Tensor& tensor = at(name);
  Literal value(tensor.desc.dtype, tensor.desc.dims);
  if (tensor.desc.channel_block == 1)
    copy(value.bytes().data(), tensor.data, value.bytes().size());
  else
    copy_to_row_major(value.bytes().data(), tensor);
  return value;
}

Seen States::see(const std::string& name) const {
  if (!accelerator_ && at(name).desc.channel_block == 1) return {at(name), {}};
  Seen seen{at(name), read(name)};
  seen.tensor.desc.channel_block = 1;
  seen.tensor.data = seen.copy.bytes().data();
  return seen;
}

void States::put(const Tensor& tensor, const Literal& value) {
  if (tensor.desc.channel_block == 1)
    copy(tensor.data, value.bytes().data(), value.bytes().size());
  else
    copy_from_row_major(tensor, value.bytes().data());
}

void States::write(const std::string& name, const Literal& value) {
  const int number = number_of(name);
  const Tensor& tensor = at(number);
  check(tensor.desc.dtype == value.dtype() && tensor.desc.dims == value.dims(), "state '", name,
        "' is ", tensor.desc, ", but its new value is ", value.type());
  put(tensor, value);
  note_change(number);
  has_values_ = true;
}

void States::write_first(const std::string& name, const Tensor& rows) {
  const int number = number_of(name);
  const Tensor& tensor = at(number);
  const Dims &held = tensor.desc.dims, &given = rows.desc.dims;
  check(tensor.desc.dtype == rows.desc.dtype && !held.empty() && held.size() == given.size() &&
            std::equal(held.begin() + 1, held.end(), given.begin() + 1) && given[0] <= held[0],
        "state '", name, "' is ", tensor.desc, ", but its first rows are ", rows.desc);
  check(tensor.desc.channel_block == 1, "internal: rows of '", name, "', which lies in tiles");
  copy(tensor.data, rows.data, rows.desc.bytes());
  note_change(number);
}

std::vector<int> States::layouts() const {
  std::vector<int> layouts;
  for (const Tensor& tensor : tensors_) layouts.push_back(tensor.desc.channel_block);
  return layouts;
}

void States::lay_out(const std::vector<TensorDesc>& descs) {
  bool changed = false;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& tensor = tensors_[i];
    if (!descs[i].present() || descs[i].channel_block == tensor.desc.channel_block) continue;
    const Literal value = read(names_[i]);
    tensor.desc.channel_block = descs[i].channel_block;
    put(tensor, value);
    changed = true;
  }
  if (changed) ++times_laid_out_;
}

}  // namespace lockstep
