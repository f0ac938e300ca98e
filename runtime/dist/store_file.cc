// SPDX-License-Identifier: Apache-2.0
// The store as a folder. A value is written to a temporary file, then renamed or linked, so that no
// process reads a partial value.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graph/file.h"
#include "lockstep/error.h"
#include "runtime/dist/store.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class FileStore final : public Store {
 public:
  explicit FileStore(const std::string& folder) : folder_(folder) {
    std::error_code error;
    fs::create_directories(folder_, error);
    check(!error, "store ", folder, ": ", error.message());
  }

  void set(const std::string& key, const std::string& value) override {
    const std::string fresh = written(value);
    std::error_code error;
    fs::rename(fresh, path_of(key), error);
    check(!error, "store ", folder_.string(), ": ", error.message());
  }

  bool add(const std::string& key, const std::string& value) override {
    const std::string fresh = written(value);
    const bool first = link(fresh.c_str(), path_of(key).c_str()) == 0;
    const int why = errno;
    unlink(fresh.c_str());
    check(first || why == EEXIST, "store ", folder_.string(), ": ", std::strerror(why));
    return first;
  }

  std::optional<std::string> get(const std::string& key) override {
    const std::string path = path_of(key);
    if (!fs::exists(path)) return std::nullopt;
    return read_file(path);
  }

 private:
  std::string path_of(std::string key) const {
    for (char& letter : key)
      if (letter == '/') letter = '.';
    return (folder_ / key).string();
  }

  std::string written(const std::string& value) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const std::string path = (folder_ / join(".new.", host, ".", getpid(), ".", next_++)).string();
    std::ofstream file(path, std::ios::binary);
    check(bool(file << value << std::flush), "store: cannot write ", path);
    return path;
  }

  fs::path folder_;
  static inline std::atomic<int> next_{0};  // several stores of one process may share a folder
};

}  // namespace

std::unique_ptr<Store> file_store(const std::string& folder) {
  return std::make_unique<FileStore>(folder);
}

}  // namespace lockstep
