// SPDX-License-Identifier: Apache-2.0
// The arrays of .npy, .npz and .safetensors files.
#include <algorithm>
#include <vector>

#include "data/arrays/collection.h"
#include "data/arrays/unpack.h"
#include "data/npy_header.h"
#include "graph/file_name.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

constexpr std::string_view kNpy = ".npy";

// Adds the elements of a .npy file inside `bytes`, without a copy.
void add_npy(const std::string& name, const std::string& path,
             std::shared_ptr<const StoredBytes> bytes, int64_t offset, int64_t size,
             ArrayCollection& all) {
  int64_t at = offset;
  const NpyHeader header = read_npy_header(size, path, [&](std::span<std::byte> next) {
    bytes->read(at, next);
    at += static_cast<int64_t>(next.size());
  });
  all.add(name, header.dtype, header.dims,
          {.bytes = std::move(bytes), .offset = offset + header.start, .path = path});
}

void add_unpacked(const std::string& name, const std::string& path, const StoredBytes& file,
                  const ZipMember& member, ArrayCollection& all) {
  ZipData data(file, member, path);
  const NpyHeader header =
      read_npy_header(member.size, path, [&](std::span<std::byte> bytes) { data.next(bytes); });
  DecodedBytes& decoded = all.decoded(name);
  all.add(name, header.dtype, header.dims, {.offset = decoded.size(), .path = path});
  constexpr int64_t kPiece = int64_t{1} << 20;
  std::vector<std::byte> piece(std::min(kPiece, header.bytes));
  for (int64_t left = header.bytes; left > 0;) {
    const auto now = std::span(piece).first(std::min(kPiece, left));
    data.next(now);
    decoded.append(now);
    left -= static_cast<int64_t>(now.size());
  }
  data.finish();
}

}  // namespace

void collect_npy(const ArrayFiles& files, ArrayCollection& all) {
  const std::string name = tensor_in_file(files.name);
  for (const std::string& path : files.paths) {
    if (!all.wants(name, path)) return;
    const auto bytes = all.open(path);
    add_npy(name, path, bytes, 0, bytes->size(), all);
  }
}

void collect_npz(const ArrayFiles& files, ArrayCollection& all) {
  for (const std::string& path : files.paths) {
    const auto bytes = all.open(path);
    const std::vector<ZipMember> members = read_zip_directory(*bytes, path);
    for (const ZipMember& member : members) {
      if (!member.name.ends_with(kNpy)) continue;
      std::string name = member.name.substr(0, member.name.size() - kNpy.size());
      // numpy.savez(file, x) does not know the name of x.
      if (members.size() == 1 && name == "arr_0") name = tensor_in_file(files.name);
      const std::string place = join(path, "/", printable(member.name));
      if (!all.wants(name, place)) continue;
      if (member.is_deflated)
        add_unpacked(name, place, *bytes, member, all);
      else
        add_npy(name, place, bytes, member.offset, member.size, all);
    }
  }
}

void collect_safetensors(const ArrayFiles& files, ArrayCollection& all) {
  for (const std::string& path : files.paths) {
    const auto bytes = all.open(path);
    const SafetensorsHeader header = read_safetensors_header(path);
    // The tensors fill the file behind the header.
    const int64_t data = header.tensors.empty()
                             ? 0
                             : bytes->size() - static_cast<int64_t>(header.tensors.back().end);
    for (const StoredTensor& tensor : header.tensors)
      if (all.wants(tensor.name, path))
        all.add(
            tensor.name, tensor.dtype, tensor.dims,
            {.bytes = bytes, .offset = data + static_cast<int64_t>(tensor.begin), .path = path});
  }
}

}  // namespace lockstep
