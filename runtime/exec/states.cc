// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/states.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/limits.h"
#include "graph/nearest.h"
#include "lockstep/graph.h"
#include "runtime/accelerator.h"
#include "runtime/layout/tiles.h"

namespace lockstep {
namespace {

TiledFilter tiled(const TensorDesc& desc) {
  check(desc.layout.is_tiles() && desc.layout.may_hold_states(),
        "internal: no state may have the layout of ", desc);
  return {desc.dims, desc.layout.tiles(), size_of(desc.dtype)};
}

}  // namespace

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
  home_.resize(names_.size());
  std::iota(home_.begin(), home_.end(), 0);
}

void States::copy(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  accelerator_ ? accelerator_->copy(to, from, bytes) : void(std::memcpy(to, from, bytes));
}

int States::number_of(const std::string& name) const {
  auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    // Without its replica's scope a name is far from every state's.
    const auto scoped = std::ranges::find_if(
        names_, [&](const std::string& full) { return full.ends_with("/" + name); });
    const std::string near = scoped != names_.end() ? *scoped : nearest(name, names_);
    fail("unknown state '", name, "'", near.empty() ? "" : "; the nearest is '" + near + "'");
  }
  return static_cast<int>(found - names_.begin());
}

Literal States::read(const std::string& name) const {
  const Tensor& tensor = at(name);
  Literal value(tensor.desc.dtype, tensor.desc.dims);
  if (tensor.desc.layout.is_rows())
    copy(value.bytes().data(), tensor.data, value.bytes().size());
  else
    tiled(tensor.desc).to_row_major(value.bytes().data(), tensor.data);
  return value;
}

Seen States::see(const std::string& name) const {
  if (!accelerator_ && at(name).desc.layout.is_rows()) return {at(name), {}};
  Seen seen{at(name), read(name)};
  seen.tensor.desc.layout = Layout();
  seen.tensor.data = seen.copy.bytes().data();
  return seen;
}

void States::put(const Tensor& tensor, const Literal& value) {
  if (tensor.desc.layout.is_rows())
    copy(tensor.data, value.bytes().data(), value.bytes().size());
  else
    tiled(tensor.desc).from_row_major(tensor.data, value.bytes().data());
}

void States::check_value(int number, const Literal& value) const {
  const TensorDesc& desc = at(number).desc;
  check(desc.dtype == value.dtype() && desc.dims == value.dims(), "state '", names_[number],
        "' is ", desc, ", but its new value is ", value.type());
}

void States::set(int number, const Literal& value) {
  put(at(number), value);
  note_change(number);
  has_values_ = true;
}

void States::write(const std::string& name, const Literal& value) {
  const int number = number_of(name);
  check_value(number, value);
  if (is_shared(number) && !(read(name) == value)) separate(number);
  set(number, value);
}

void States::write_all(const StateValues& values) {
  std::vector<bool> together(names_.size(), false);  // by home: true if all its states get one
                                                     // value
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (home_[i] == static_cast<int>(i)) together[i] = take_one_value(static_cast<int>(i), values);
  for (const auto& [name, value] : values) {
    const int number = number_of(name), home = home_[number];
    if (!together[home]) {
      write(name, value);
    } else if (number == home) {
      check_value(number, value);
      set(number, value);
    }
  }
}

bool States::take_one_value(int home, const StateValues& values) const {
  const auto first = values.find(names_[home]);
  if (first == values.end()) return false;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (home_[i] != home) continue;
    const auto other = values.find(names_[i]);
    if (other == values.end() || !(other->second == first->second)) return false;
  }
  return true;
}

void States::write_first(const std::string& name, const Tensor& rows) {
  const int number = number_of(name);
  const Tensor& tensor = at(number);
  const Dims &held = tensor.desc.dims, &given = rows.desc.dims;
  check(tensor.desc.dtype == rows.desc.dtype && !held.empty() && held.size() == given.size() &&
            std::equal(held.begin() + 1, held.end(), given.begin() + 1) && given[0] <= held[0],
        "state '", name, "' is ", tensor.desc, ", but its first rows are ", rows.desc);
  check(tensor.desc.layout.is_rows(), "internal: rows are written to '", name,
        "', a filter in tiles");
  separate(number);
  copy(at(number).data, rows.data, rows.desc.bytes());
  note_change(number);
}

std::vector<Layout> States::layouts() const {
  std::vector<Layout> layouts;
  for (const int home : home_) layouts.push_back(at(home).desc.layout);
  return layouts;
}

bool States::is_shared(int number) const { return std::ranges::count(home_, home_[number]) > 1; }

bool States::lie_alike(const std::vector<int>& group) const {
  return std::ranges::all_of(group,
                             [&](int number) { return at(number).desc == at(group.front()).desc; });
}

bool States::are_equal(const std::vector<int>& group) const {
  const Tensor& first = at(group.front());
  return lie_alike(group) && std::ranges::all_of(group, [&](int number) {
           const void* data = at(number).data;
           return !has_values() || data == first.data ||
                  std::memcmp(data, first.data, first.desc.bytes()) == 0;
         });
}

void States::share(const std::vector<std::vector<int>>& groups) {
  for (const std::vector<int>& group : groups) {
    check(!accelerator_ && lie_alike(group), "internal: '", names_[group.front()],
          "' cannot be shared");
    for (const int number : group) {
      const std::size_t i = number;
      if (home_[i] == home_[group.front()]) continue;
      home_[i] = group.front();
      memory_[i].reset();
      ++moves_;
    }
  }
}

void States::separate(int number) {
  const int home = home_[number];
  for (std::size_t i = 0; i < home_.size(); ++i) {
    if (home_[i] != home || static_cast<int>(i) == home) continue;
    const Tensor& from = at(home);
    memory_[i] = allocate(from.desc.bytes());
    tensors_[i] = {from.desc, memory_[i].get()};
    copy(tensors_[i].data, from.data, from.desc.bytes());
    changed_[i] = changed(home);
    home_[i] = static_cast<int>(i);
    ++moves_;
  }
}

void States::lay_out(const std::vector<TensorDesc>& descs) {
  bool changed = false;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& tensor = tensors_[home_[i]];
    if (!descs[i].present() || descs[i].layout == tensor.desc.layout) continue;
    const Literal value = read(names_[i]);
    tensor.desc.layout = descs[i].layout;
    put(tensor, value);
    changed = true;
  }
  if (!changed) return;
  ++times_laid_out_;
  ++moves_;
}

}  // namespace lockstep
