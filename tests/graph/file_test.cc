// SPDX-License-Identifier: Apache-2.0
// Files that are read, files that are refused before any byte is read, and files that are written.
#include "graph/file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <thread>

#include "graph/refusal.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace {

// The files and folders that were synced, in order: files by name and size, folders by name.
std::vector<std::string>& synced() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace

// Replaces the C library's fsync(): records the call, then syncs.
extern "C" int fsync(int descriptor) {
  namespace fs = std::filesystem;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  synced().push_back(fs::is_directory(path) ? path.string()
                                            : path.string() + " holds " +
                                                  std::to_string(fs::file_size(path)) + " bytes");
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

TEST(ReadFile, TakesRegularFilesOnly) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  // The pipe has no writer, so a plain open would block forever.
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
  EXPECT_FALSE(read_file("/proc/self/status").empty());  // its reported size is 0
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
  writer = std::thread(write, 60000);  // fits into the pipe's buffer
  expect_error([&] { read_file_or_pipe(pipe, 999); }, pipe, "longer than 999 bytes");
  writer.join();
  expect_error([&] { read_file_or_pipe(pipe, 999, 1); }, pipe, "the pipe delivered nothing");
  expect_error([&] { read_file_or_pipe("/dev/zero"); }, "/dev/zero", "a device");
}

// If a rename reaches the disk before the content, a power cut leaves an empty file.
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

// Two commands may write the same path at once. Each file is complete, and the last file remains.
TEST(WriteFile, SecondWritersWait) {
  TemporaryFolder folder;
  const std::string path = folder / "a";
  const auto write = [&](char letter) {
    for (int round = 0; round < 50; ++round) write_file(path, std::string(100000, letter));
  };
  std::thread other(write, 'x');
  write('y');
  other.join();
  const std::string text = read_file(path);
  EXPECT_EQ(text, std::string(100000, text[0]));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  write_file(path + ".tmp", "left by a writer that was killed, and longer");
  write_file(path, "short");
  EXPECT_EQ(read_file(path), "short");
}

// A reader of a pipe or device would get nothing if the path were replaced, and other programs need
// the path.
TEST(WriteFile, ReplacesRegularFilesOnly) {
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe", socket_name = folder / "socket";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket_name.copy(address.sun_path, sizeof address.sun_path - 1), 100u);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(listener);
  make_folder(folder / "sub");
  fs::create_symlink("pipe", folder / "to_pipe");
  fs::create_symlink("sub", folder / "to_sub");
  for (const auto& [name, kind] : {std::pair{"pipe", "a pipe"},
                                   {"to_pipe", "a pipe"},
                                   {"socket", "a socket"},
                                   {"sub", "a folder"},
                                   {"sub/", "a folder"},
                                   {"to_sub", "a folder"}})
    expect_error([&, path = folder / name] { write_file(path, "x"); }, "cannot write '",
                 folder / name, join("': it is ", kind, ", not a regular file"));
  write_file(folder / "whole", "x");
  for (const char* name : {"pipe", "socket", "sub"})
    expect_error([&] { rename_file(folder / "whole", folder / name); }, folder / name,
                 "not a regular file");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_socket(socket_name));
  EXPECT_TRUE(fs::is_empty(folder / "sub"));
  EXPECT_EQ(read_file(folder / "whole"), "x");
  // The pipe has no reader, so a plain open would block forever.
  ASSERT_EQ(mkfifo((folder / "a.tmp").c_str(), 0600), 0);
  expect_error([&] { write_file(folder / "a", "x"); }, folder / "a.tmp", "a pipe");
  EXPECT_TRUE(fs::is_fifo(folder / "a.tmp"));
  fs::create_symlink("whole", folder / "b.tmp");
  expect_error([&] { write_file(folder / "b", "y"); }, folder / "b.tmp", "it is a link");
  EXPECT_EQ(read_file(folder / "whole"), "x") << "no write through a link";
  rename_file(folder / "whole", folder / "to_sub");
  EXPECT_FALSE(fs::is_symlink(folder / "to_sub")) << "a rename replaces the link itself";
  EXPECT_EQ(read_file(folder / "to_sub"), "x");
}

TEST(WriteFile, RefusesADevice) {
  TemporaryFolder folder;
  // Only root creates devices, and only root could replace the system's devices.
  std::string device = folder / "full";
  if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0) device = "/dev/full";
  const std::string link = folder / "link";
  fs::create_symlink(device, link);
  for (const std::string& path : {device, link})
    expect_error([&] { write_file(path, "x"); }, path, "it is a device");
  EXPECT_TRUE(fs::is_character_file(device));
}

TEST(WriteFile, GoesThroughLinks) {
  TemporaryFolder folder;
  make_folder(folder / "far");
  write_file(folder / "far/target", "old");
  fs::create_symlink("far/target", folder / "one");
  fs::create_symlink(folder / "one", folder / "two");
  fs::create_symlink("far/new", folder / "dangling");
  synced().clear();
  write_file(folder / "two", "newer");
  EXPECT_EQ(synced(),
            (std::vector<std::string>{folder / "far/target.tmp holds 5 bytes", folder / "far"}));
  write_file(folder / "dangling", "first");
  for (const char* link : {"one", "two", "dangling"})
    EXPECT_TRUE(fs::is_symlink(folder / link)) << link;
  EXPECT_EQ(read_file(folder / "far/target"), "newer");
  EXPECT_EQ(read_file(folder / "far/new"), "first");
  EXPECT_FALSE(fs::is_symlink(folder / "far/new"));
  fs::create_symlink("circle", folder / "circle");
  expect_error([&] { write_file(folder / "circle", "x"); }, folder / "circle",
               "a link on the path leads back to itself; remove the link, or choose another path");
  fs::create_symlink("none/new", folder / "lost");
  expect_error([&] { write_file(folder / "lost", "x"); }, folder / "none/new.tmp", "No such file");
}

// Standard output may be redirected to this file; replacing the file would lose the printed text.
TEST(WriteFile, RefusesStandardOutput) {
  TemporaryFolder folder;
  write_file(folder / "printed", "x");
  const int open_file = open((folder / "printed").c_str(), O_WRONLY | O_CLOEXEC);
  const std::string number = std::to_string(open_file);
  fs::create_symlink("/proc/self/fd/" + number, folder / "out");
  for (const std::string& name : {"/proc/self/fd/" + number, "/dev/fd/" + number, folder / "out"})
    expect_error([&] { write_file(name, "y"); }, "cannot write '" + name,
                 "it leads to an open file of a process, such as its standard output");
  close(open_file);
  EXPECT_EQ(read_file(folder / "printed"), "x");
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
