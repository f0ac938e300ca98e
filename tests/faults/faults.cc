// SPDX-License-Identifier: Apache-2.0
// A preloaded library that makes one call of the process fail, stop short or be its last call.
//   LOCKSTEP_FAULT=KIND:N:HOW   the Nth call of a kind: write, sync, rename (or link), create (a
//                               file opened for writing), read (of a file), connect
//                               HOW: ENOSPC, EIO, EINTR, ECONNREFUSED, short (half of the bytes),
//                               kill; with a + at the end: that call and all later calls
//   LOCKSTEP_FAULT_RANK=R       only in the process with RANK=R
//   LOCKSTEP_FAULT_COUNTS=FILE  at the end of the process: the number of calls of each kind
// Calls on the standard streams, and reads and writes of other than regular files, do not count.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Kind { kWrite, kSync, kRename, kCreate, kRead, kConnect, kKinds };
constexpr const char* kNames[kKinds] = {"write", "sync", "rename", "create", "read", "connect"};

struct Fault {
  int kind = -1;
  long number = 0;
  int error = 0;  // 0: short
  bool dies = false, stays = false;
};

Fault from_environment() {
  Fault fault;
  const char* text = std::getenv("LOCKSTEP_FAULT");
  const char* of_rank = std::getenv("LOCKSTEP_FAULT_RANK");
  const char* rank = std::getenv("RANK");
  if (!text || (of_rank && (!rank || std::strcmp(rank, of_rank) != 0))) return fault;
  char kind[16] = "", how[16] = "";
  if (std::sscanf(text, "%15[^:]:%ld:%15s", kind, &fault.number, how) != 3) std::abort();
  if (char* plus = std::strchr(how, '+')) {
    fault.stays = true;
    *plus = 0;
  }
  for (int i = 0; i < kKinds; ++i)
    if (std::strcmp(kind, kNames[i]) == 0) fault.kind = i;
  fault.dies = std::strcmp(how, "kill") == 0;
  fault.error = std::strcmp(how, "ENOSPC") == 0         ? ENOSPC
                : std::strcmp(how, "EIO") == 0          ? EIO
                : std::strcmp(how, "EINTR") == 0        ? EINTR
                : std::strcmp(how, "ECONNREFUSED") == 0 ? ECONNREFUSED
                                                        : 0;
  if (fault.kind < 0 || (!fault.error && !fault.dies && std::strcmp(how, "short") != 0))
    std::abort();
  return fault;
}

const Fault& fault() {
  static const Fault one = from_environment();
  return one;
}
std::atomic<long> counts[kKinds];

// True if the fault applies to this call.
bool strikes(Kind kind) {
  const long number = ++counts[kind];
  const Fault& one = fault();
  if (one.kind != kind || number < one.number || (number > one.number && !one.stays)) return false;
  if (one.dies) kill(getpid(), SIGKILL);
  return true;
}

// For calls that cannot stop short.
bool fails(Kind kind) {
  if (!strikes(kind)) return false;
  errno = fault().error ? fault().error : EIO;
  return true;
}

bool is_file(int descriptor) {
  struct stat facts;
  return descriptor > 2 && fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
}

template <class Call>
Call* next(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

bool creates(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

__attribute__((destructor)) void report() {
  const char* path = std::getenv("LOCKSTEP_FAULT_COUNTS");
  if (!path) return;
  const long file =
      syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  char line[64];
  for (int i = 0; i < kKinds; ++i) {
    const int length = std::snprintf(line, sizeof line, "%s %ld\n", kNames[i], counts[i].load());
    syscall(SYS_write, file, line, length);
  }
  syscall(SYS_close, file);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static auto* real = next<decltype(write)>("write");
  if (!is_file(descriptor) || !strikes(kWrite)) return real(descriptor, bytes, count);
  if (fault().error == 0) return real(descriptor, bytes, count / 2);
  errno = fault().error;
  return -1;
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static auto* real = next<decltype(writev)>("writev");
  if (!is_file(descriptor) || !strikes(kWrite)) return real(descriptor, parts, count);
  if (fault().error == 0) return real(descriptor, parts, 1);
  errno = fault().error;
  return -1;
}

ssize_t read(int descriptor, void* bytes, size_t count) {
  static auto* real = next<decltype(read)>("read");
  if (!is_file(descriptor) || !strikes(kRead)) return real(descriptor, bytes, count);
  if (fault().error == 0) return real(descriptor, bytes, (count + 1) / 2);
  errno = fault().error;
  return -1;
}

int fsync(int descriptor) {
  static auto* real = next<decltype(fsync)>("fsync");
  return fails(kSync) ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  static auto* real = next<int(const char*, const char*)>("rename");
  return fails(kRename) ? -1 : real(from, to);
}

int link(const char* from, const char* to) noexcept {
  static auto* real = next<int(const char*, const char*)>("link");
  return fails(kRename) ? -1 : real(from, to);
}

int open(const char* path, int flags, ...) {
  static auto* real = next<decltype(open)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  return creates(flags) && fails(kCreate) ? -1 : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  static auto* real = next<decltype(open64)>("open64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  return creates(flags) && fails(kCreate) ? -1 : real(path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  static auto* real = next<decltype(fopen)>("fopen");
  return std::strpbrk(mode, "wa+") && fails(kCreate) ? nullptr : real(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  static auto* real = next<decltype(fopen64)>("fopen64");
  return std::strpbrk(mode, "wa+") && fails(kCreate) ? nullptr : real(path, mode);
}

int connect(int descriptor, const sockaddr* address, socklen_t length) {
  static auto* real = next<decltype(connect)>("connect");
  return fails(kConnect) ? -1 : real(descriptor, address, length);
}

}  // extern "C"
