// SPDX-License-Identifier: Apache-2.0
#include "app/record/tensorboard.h"

#include <chrono>
#include <cstring>
#include <string_view>

#include "lockstep/error.h"
#include "runtime/accelerator.h"
#include "runtime/state/checksum.h"

namespace lockstep {
namespace {

uint32_t masked(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

template <class T>
void put_fixed(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

ProtoMessage event_at(int64_t step) {
  return ProtoMessage().real(1, unix_time()).integer(2, static_cast<uint64_t>(step));
}

}  // namespace

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventWriter::EventWriter(const std::string& folder) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  const std::string path = join(folder, "/events.out.tfevents.", nanoseconds / 1000000000, ".",
                                nanoseconds % 1000000000, ".lockstep");
  file_ = std::make_unique<AppendedFile>(path);
  write(event_at(0).text(3, "brain.Event:2").bytes());  // file_version
}

void EventWriter::scalar(const std::string& tag, int64_t step, float value) {
  this->value(step, ProtoMessage().text(1, tag).number(2, value));
}

void EventWriter::value(int64_t step, const ProtoMessage& value) {
  write(event_at(step).part(5, ProtoMessage().part(1, value)).bytes());
}

void EventWriter::write(const std::string& event) {
  std::string frame;
  put_fixed(frame, static_cast<uint64_t>(event.size()));
  put_fixed(frame, masked(frame));
  frame += event;
  put_fixed(frame, masked(event));
  written_ += frame;
}

void EventWriter::flush() {
  file_->append(written_);
  written_.clear();
}

}  // namespace lockstep
