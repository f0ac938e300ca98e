// What is read as a file, what is refused before a byte of it is taken, and what is written.
#include "graph/file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "graph/refusal.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace {

// What was brought to the disk, in order: files by name and size, folders by name.
std::vector<std::string>& synced() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace

// In place of the C library's: notes what is synced, and does it.
extern "C" int fsync(int descriptor) {
  namespace fs = std::filesystem;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
  synced().push_back(fs::is_directory(path) ? path.string()
                                            : path.string() + " holds " +
                                                  std::to_string(fs::file_size(path)) + " bytes");
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace lockstep::testing {
namespace {

TEST(ReadFile, TakesRegularFilesOnly) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  // Nobody writes to it: opening it the ordinary way waits for ever.
  expect_error([&] { read_file(folder / "pipe"); }, folder / "pipe", "a pipe, not a regular file");
  expect_error([&] { read_file("/dev/zero"); }, "cannot read /dev/zero: it is a device");
  expect_error([&] { read_file(folder.path()); }, folder.path(), "a folder");
  expect_error([&] { read_file(folder / "none"); }, folder / "none", "No such file");
  write_file(folder / "one", "");
  expect_error([&] { read_file(folder / "one/two"); }, "cannot read '", folder / "one/two",
               "': Not a directory; a part of the path is a file; choose another path");
  expect_error([&] { write_file(folder / std::string(300, 'x'), ""); }, "cannot create '",
               "xx.tmp': File name too long; shorten the name");
  for (const std::size_t size : {0, 1, 4095, 4096, 100000}) {
    const std::string text(size, 'x');
    write_file(folder / "f", text);
    EXPECT_EQ(read_file(folder / "f"), text);
    EXPECT_EQ(read_file_or_pipe(folder / "f"), text);
  }
  EXPECT_FALSE(read_file("/proc/self/status").empty());  // whose size is said to be 0
}

TEST(ReadFile, TakesWhatComesThroughAPipeUpToALimit) {
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  auto write = [&](std::size_t bytes) {
    const int descriptor = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string text(bytes, 'y');
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t written = ::write(descriptor, text.data() + at, bytes - at);
      if (written < 0) break;
      at += static_cast<std::size_t>(written);
    }
    close(descriptor);
  };
  std::thread writer(write, 100000);
  EXPECT_EQ(read_file_or_pipe(pipe, 100000), std::string(100000, 'y'));
  writer.join();
  writer = std::thread(write, 60000);  // a pipe holds it, so the writer need not be read to the end
  expect_error([&] { read_file_or_pipe(pipe, 999); }, pipe, "longer than 999 bytes");
  writer.join();
  expect_error([&] { read_file_or_pipe(pipe, 999, 1); }, pipe, "the pipe delivered nothing");
  expect_error([&] { read_file_or_pipe("/dev/zero"); }, "/dev/zero", "a device");
}

// A rename that reaches the disk before the content leaves an empty file behind a power cut.
TEST(WriteFile, IsOnDiskBeforeItTakesTheName) {
  TemporaryFolder folder;
  write_file(folder / "a", "old");
  synced().clear();
  write_file(folder / "a", "newer");
  const std::vector<std::string> expected{folder / "a.tmp holds 5 bytes", folder.path()};
  EXPECT_EQ(synced(), expected);
}

TEST(WriteFile, LeavesNothingHalfWritten) {
  TemporaryFolder folder;
  write_file(folder / "a", "old");
  expect_error(
      [&] {
        write_file(folder / "a", [](const FileSink& sink) {
          sink(std::as_bytes(std::span("new", 3)));
          fail("no more space");
        });
      },
      "no more space");
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.tmp"));
  expect_error([&] { write_file("/proc/nowhere/a", "x"); }, "/proc/nowhere/a");
}

TEST(Refusal, NamesBothPathsOfAMove) {
  const std::error_code across = std::make_error_code(std::errc::cross_device_link);
  EXPECT_EQ(refusal_text(std::filesystem::filesystem_error("rename", "a", "b", across)),
            "cannot use 'a' and 'b': " + across.message());
  EXPECT_EQ(refusal_text(std::filesystem::filesystem_error("remove", "a", across)),
            "cannot use 'a': " + across.message());
}

TEST(MakeFolder, SaysWhatIsInTheWay) {
  TemporaryFolder folder;
  write_file(folder / "f", "");
  for (const char* path : {"f", "f/g"})
    expect_error([&] { make_folder(folder / path); }, "cannot create the folder '",
                 "': Not a directory; a part of the path is a file; choose another path");
  make_folder(folder.path());
}

}  // namespace
}  // namespace lockstep::testing
