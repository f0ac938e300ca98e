// What is read as a file, and what is refused before a byte of it is taken.
#include "graph/file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

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

}  // namespace
}  // namespace lockstep::testing
