// Files that are either written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace lockstep {

// Appends bytes to the file being written; throws on a full disk.
using FileSink = std::function<void(std::span<const std::byte>)>;

// Writes `path` through a temporary name in the same folder, syncs it, renames it. If anything
// fails the old file is as it was, the temporary one is gone, and an Error names path and reason.
void write_file(const std::string& path, const std::function<void(const FileSink&)>& write);
void write_file(const std::string& path, const std::string& text);

// In place of what `to` was; on disk when it returns.
void rename_file(const std::string& from, const std::string& to);

// With those it lies in; throws naming it.
void make_folder(const std::string& path);

// A regular file's bytes; throws naming the path for what is none. A device or a pipe would fill
// memory or hang, whoever chose its name.
std::string read_file(const std::string& path);

// As many bytes as fit into `bytes`, from `offset` on; throws when the file ends before.
void read_file_part(const std::string& path, int64_t offset, std::span<std::byte> bytes);

// What people type or generate, a configuration for instance, may also come through a pipe. At most
// `limit` bytes; a pipe that stays silent for `patience` seconds is an error.
std::string read_file_or_pipe(const std::string& path, std::size_t limit = 1 << 20,
                              int patience = 60);

}  // namespace lockstep
