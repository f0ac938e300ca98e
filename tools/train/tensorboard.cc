#include "tools/train/tensorboard.h"

#include <array>
#include <chrono>
#include <cstring>

#include "graph/error.h"

namespace lockstep {
namespace {

// CRC-32C (Castagnoli), reflected polynomial 0x82F63B78.
constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
    table[i] = crc;
  }
  return table;
}();

uint32_t masked(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Protocol buffer wire format.
void put_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

template <class T>
void put_fixed(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

enum Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
void put_key(std::string& to, int field, Wire wire) {
  put_varint(to, static_cast<uint64_t>(field << 3 | wire));
}
void put_bytes(std::string& to, int field, std::string_view value) {
  put_key(to, field, bytes);
  put_varint(to, value.size());
  to.append(value);
}

std::string event_at(int64_t step) {
  std::string event;
  put_key(event, 1, fixed64);  // wall_time
  put_fixed(event, now());
  put_key(event, 2, varint);  // step
  put_varint(event, static_cast<uint64_t>(step));
  return event;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (char byte : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

EventWriter::EventWriter(const std::string& folder) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  const std::string path = join(folder, "/events.out.tfevents.", nanoseconds / 1000000000, ".",
                                nanoseconds % 1000000000, ".lockstep");
  file_.open(path, std::ios::binary);
  check(bool(file_), "cannot write ", path);
  std::string event = event_at(0);
  put_bytes(event, 3, "brain.Event:2");  // file_version
  write(event);
}

void EventWriter::scalar(const std::string& tag, int64_t step, float value) {
  std::string entry;
  put_bytes(entry, 1, tag);
  put_key(entry, 2, fixed32);  // simple_value
  put_fixed(entry, value);
  std::string summary;
  put_bytes(summary, 1, entry);
  std::string event = event_at(step);
  put_bytes(event, 5, summary);
  write(event);
}

void EventWriter::write(const std::string& event) {
  std::string frame;
  put_fixed(frame, static_cast<uint64_t>(event.size()));
  put_fixed(frame, masked(frame));
  frame += event;
  put_fixed(frame, masked(event));
  file_.write(frame.data(), static_cast<std::streamsize>(frame.size()));
}

}  // namespace lockstep
