// SPDX-License-Identifier: Apache-2.0
// oneDNN maps memory for the code of a primitive and allocates its description on the heap, without
// checking for failure. Where `ulimit -v` leaves no memory, the process would die by a signal.
// Callers of oneDNN check the free memory first.
#include <sys/mman.h>

#include "graph/limits.h"
#include "operators/kit/dnnl.h"

namespace lockstep {
namespace {

// Measured as mappings while a primitive was made (oneDNN 2.6), and rounded up. Code: 0.25 MiB for
// each of up to 3 kernels of float32; for bfloat16, 1 MiB for the first kernel and 1.5 MiB for all.
// Batched products (brgemm) have up to 32 kernels and two copying kernels of 0.25 MiB each. A
// description has no code, but the heap may grow by 132 KiB.
constexpr std::size_t kBytesOfCode = std::size_t{4} << 20U;
constexpr std::size_t kBytesOfBatchedCode = std::size_t{12} << 20U;
constexpr std::size_t kBytesOfDescription = std::size_t{1} << 20U;

// Tests the free memory with a mapping, so that all limits of the operating system count: on the
// process, on committed memory and on the number of mappings.
void check_room(std::size_t bytes, const std::string& what) {
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    throw NoMemory(join(what, " may need ", text_of_bytes(bytes), " of memory, but ",
                        text_of_bytes(usable_memory()),
                        " are free; free some memory, or raise ulimit -v"));
  munmap(room, bytes);
}

}  // namespace

void check_room_for_description() { check_room(kBytesOfDescription, "describing a oneDNN kernel"); }

void check_room_for_code(const std::string& implementation) {
  const bool batched = implementation.find("brg") != std::string::npos;
  check_room(batched ? kBytesOfBatchedCode : kBytesOfCode,
             join("compiling oneDNN's kernel ", implementation));
}

}  // namespace lockstep
