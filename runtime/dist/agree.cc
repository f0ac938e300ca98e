// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/agree.h"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "graph/excerpt.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/store.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostShown = 60;          // bytes of a value in an error
constexpr uint64_t kTalk = uint64_t{1} << 62U;  // above the message numbers of graphs

void send_text(Comm& comm, int to, const std::string& text, const std::string& what) {
  uint64_t size = text.size();
  Transfer& length = comm.sending(to, kTalk, what);
  length.start(&size, sizeof size);
  length.wait();
  if (size == 0) return;
  Transfer& content = comm.sending(to, kTalk + 1, what);
  content.start(const_cast<char*>(text.data()), size);
  content.wait();
}

std::string receive_text(Comm& comm, int from, const std::string& what,
                         uint64_t longest = kLongestText) {
  uint64_t size = 0;
  Transfer& length = comm.receiving(from, kTalk, what);
  length.start(&size, sizeof size);
  length.wait();
  check(size <= longest, "rank ", from, " sent ", size, " bytes of '", what, "'; at most ", longest,
        " are allowed");
  std::string text(size, '\0');
  if (size == 0) return text;
  Transfer& content = comm.receiving(from, kTalk + 1, what);
  content.start(text.data(), size);
  content.wait();
  return text;
}

std::string encoded(const Entries& entries) {
  std::ostringstream text;
  for (const auto& [key, value] : entries)
    text << key.size() << " " << key << value.size() << " " << value;
  return text.str();
}

Entries decoded(const std::string& text) {
  std::istringstream stream(text);
  auto part = [&] {
    std::size_t size = 0;
    stream >> size;
    stream.get();
    check(stream && size <= text.size(), "the configuration that another rank sent is damaged");
    std::string value(size, '\0');
    stream.read(value.data(), static_cast<std::streamsize>(size));
    return value;
  };
  Entries entries;
  while (stream.peek() != std::istringstream::traits_type::eof()) {
    std::string key = part();
    entries.emplace_back(std::move(key), part());
  }
  return entries;
}

// Returns the first difference as text, or "".
std::string difference(const Entries& first, const Entries& other, int rank) {
  for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
    if (i >= first.size() || i >= other.size() || first[i].first != other[i].first)
      return join("rank ", rank, " runs another version of Lockstep than rank 0");
    if (first[i].second == other[i].second) continue;
    const auto [ours, theirs] = around_difference(first[i].second, other[i].second, kMostShown);
    return join("rank ", rank, " has ", first[i].first, " '", printable(theirs), "', rank 0 has '",
                printable(ours), "'; all processes of a run need the same");
  }
  return "";
}

}  // namespace

std::vector<std::string> gather_texts(Comm& comm, const std::string& mine, const std::string& what,
                                      uint64_t longest) {
  if (comm.rank() > 0) {
    send_text(comm, 0, mine, what);
    return {};
  }
  std::vector<std::string> texts{mine};
  for (int rank = 1; rank < comm.size(); ++rank)
    texts.push_back(receive_text(comm, rank, what, longest));
  return texts;
}

std::string share_text(Comm& comm, const std::string& mine, const std::string& what, int from,
                       uint64_t longest) {
  if (comm.rank() != from) return receive_text(comm, from, what, longest);
  for (int rank = 0; rank < comm.size(); ++rank)
    if (rank != from) send_text(comm, rank, mine, what);
  return mine;
}

// Each round doubles the number of preceding ranks that a rank has heard from.
uint64_t least_of_all(Comm& comm, uint64_t mine, const std::string& what) {
  const int size = comm.size(), rank = comm.rank();
  uint64_t number = kTalk + 2;
  for (int reach = 1; reach < size; reach *= 2, ++number) {
    uint64_t told = mine, heard = 0;
    Transfer& out = comm.sending((rank + reach) % size, number, what);
    Transfer& in = comm.receiving((rank - reach + size) % size, number, what);
    in.start(&heard, sizeof heard);
    out.start(&told, sizeof told);
    in.wait();
    out.wait();
    mine = std::min(mine, heard);
  }
  return mine;
}

void check_agreement(Comm& comm, const Entries& mine) {
  std::string found;
  const auto texts = gather_texts(comm, encoded(mine), "the configuration");
  for (int rank = 1; rank < static_cast<int>(texts.size()) && found.empty(); ++rank)
    found = difference(mine, decoded(texts[rank]), rank);
  found = share_text(comm, found, "the difference between the configurations");
  check(found.empty(), found);
}

std::string digest(const void* data, std::size_t bytes) {
  uint64_t state = 0xCBF29CE484222325ULL + bytes;
  const char* at = static_cast<const char*>(data);
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    state = (state ^ word) * 0x9E3779B97F4A7C15ULL;
    state ^= state >> 32U;
  }
  for (; bytes > 0; --bytes, ++at)
    state = (state ^ static_cast<unsigned char>(*at)) * 0x100000001B3ULL;
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << state;
  return text.str();
}

}  // namespace lockstep
