// SPDX-License-Identifier: Apache-2.0
// Files, written atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace lockstep {

// Appends bytes to the file being written; throws on a full disk.
using FileSink = std::function<void(std::span<const std::byte>)>;

// Writes `path` under a temporary name in the same folder, syncs it and renames it. On failure the
// old file stays, the temporary one is deleted, and an Error names path and reason.
void write_file(const std::string& path, const std::function<void(const FileSink&)>& write);
void write_file(const std::string& path, const std::string& text);

// Replaces `to`. The rename is on disk when the function returns.
void rename_file(const std::string& from, const std::string& to);

// Creates the folder and its parents. Throws an error that names the folder.
void make_folder(const std::string& path);

// Returns the bytes of a regular file. Throws, naming the path, for anything else: reading a device
// or a pipe could fill memory or hang.
std::string read_file(const std::string& path);

// Returns the first `most` bytes of a regular file, or all bytes of a shorter file.
std::string read_file_start(const std::string& path, std::size_t most);

// Fills `bytes` from `offset` on. Throws if the file is too short.
void read_file_part(const std::string& path, int64_t offset, std::span<std::byte> bytes);

// Reads a regular file or a pipe, for typed or generated input such as a configuration. Throws for
// more than `limit` bytes, or if a pipe delivers nothing for `patience` seconds.
std::string read_file_or_pipe(const std::string& path, std::size_t limit = 1 << 20,
                              int patience = 60);

}  // namespace lockstep
