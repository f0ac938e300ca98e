// oneDNN compiles the kernels of a matrix product at a process's first product, and once more for
// the first small matrices and the first transposed small ones. Within a step nobody could be told
// that there was no memory for them.
#include <execinfo.h>

#include <array>
#include <new>

#include "graph/limits.h"
#include "operators/kit/dnnl.h"

namespace lockstep {
namespace {

constexpr const char* kRemedy = "; free some memory, or raise ulimit -v";

// The growth of /proc/self/maps, rounded up: oneDNN 2.6 and 3.2.
std::size_t bytes_of_code() {
  return std::size_t{has(dnnl::cpu_isa::avx512_core) ? 18U : 6U} << 20U;
}

// oneDNN compiles below pthread_once(). An exception can pass only if the C library has loaded its
// unwinder; where it cannot load that just then, it ends the process.
void load_unwinder() {
  void* frame = nullptr;
  check(backtrace(&frame, 1) > 0, "out of memory: the C library cannot load libgcc_s.so.1",
        kRemedy);
}

void multiply(int64_t side, bool transposed) {
  const std::array<float, 4> a{}, b{};
  std::array<float, 4> c{};
  sgemm(false, transposed, side, side, side, 1, a.data(), side, b.data(), side, 0, c.data(), side);
}

bool compile() {
  const std::string what = "compiling oneDNN's matrix products";
  check_memory(bytes_of_code(), what);
  load_unwinder();
  try {
    multiply(1, false);
    multiply(2, false);
    multiply(2, true);
  } catch (const std::exception& error) {
    fail(what, " needs ", text_of_bytes(bytes_of_code()), " of memory and failed: ", error.what(),
         kRemedy);
  }
  return true;
}

}  // namespace

void prepare_sgemm() { [[maybe_unused]] static const bool compiled = compile(); }

}  // namespace lockstep
