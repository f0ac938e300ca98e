// SPDX-License-Identifier: Apache-2.0
// oneDNN compiles the kernels of a matrix product at a process's first product. It compiles more at
// the first product of small matrices and of small transposed matrices, and separate kernels for
// bfloat16. The first AMX kernel also compiles the functions that configure tiles. These
// compilations are triggered here, before a step runs, because a step cannot report that memory for
// kernels is missing.
#include <execinfo.h>

#include <array>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "graph/limits.h"
#include "operators/kit/dnnl.h"

namespace lockstep {
namespace {

constexpr const char* kRemedy = "; free some memory, or raise ulimit -v";

// The growth of /proc/self/maps, rounded up: oneDNN 2.6 and 3.2.
std::size_t bytes_of_sgemm() {
  return std::size_t{has(dnnl::cpu_isa::avx512_core) ? 18U : 6U} << 20U;
}
constexpr std::size_t kBytesOfBfloat16 = std::size_t{2} << 20U;  // 1.6 MiB: oneDNN 2.6
constexpr std::size_t kBytesOfTiles = std::size_t{2} << 20U;     // 1 MiB: oneDNN 2.6

// oneDNN compiles inside pthread_once(). An exception can pass through only if the C library has
// loaded its unwinder. If the unwinder cannot be loaded at that moment, the C library ends the
// process.
void load_unwinder() {
  void* frame = nullptr;
  check(backtrace(&frame, 1) > 0, "out of memory: the C library cannot load libgcc_s.so.1",
        kRemedy);
}

bool compile(const std::string& what, std::size_t bytes, const std::function<void()>& first) {
  check_memory(bytes, what);
  load_unwinder();
  try {
    first();
  } catch (const std::exception& error) {
    fail(what, " needs ", text_of_bytes(bytes), " of memory and failed: ", error.what(), kRemedy);
  }
  return true;
}

void multiply(int64_t side, bool transposed) {
  const std::array<float, 4> a{}, b{};
  std::array<float, 4> c{};
  sgemm(false, transposed, side, side, side, 1, a.data(), side, b.data(), side, 0, c.data(), side);
}

void multiply_floats() {
  multiply(1, false);
  multiply(2, false);
  multiply(2, true);
}

dnnl::memory zeros(const dnnl::memory::desc& desc) {
  dnnl::memory memory(desc, cpu_engine());
  if (desc.get_size() > 0) std::memset(memory.get_data_handle(), 0, desc.get_size());
  return memory;
}

using IsWanted = bool (*)(const std::string& implementation);

// Executes the first implementation of `desc` that is wanted, if there is one.
template <class Primitive, class Desc>
void execute_one(IsWanted is_wanted, Desc desc, std::unordered_map<int, dnnl::memory> args) {
  while (!is_wanted(desc.impl_info_str()))
    if (!desc.next_impl()) return;  // then no other convolution uses such an implementation either
  args.emplace(DNNL_ARG_SCRATCHPAD, zeros(desc.scratchpad_desc()));
  dnnl::stream stream(cpu_engine());
  Primitive(desc).execute(stream, args);
  stream.wait();
}

// Convolves one pixel forward and backward. oneDNN has no function for the bfloat16 product alone,
// and its conversions of the bias and of sums are compiled, too.
void convolve_bfloat16() {
  const Dims pixel{1, 4, 1, 1}, groups{2, 2, 2, 1, 1}, ones{1, 1}, none{0, 0};
  const auto plain = [](const Dims& dims) { return plain_desc(dims, DType::bfloat16); };
  const auto image = plain(pixel), filters = plain(groups), bias = plain({4});
  const auto direct = dnnl::algorithm::convolution_direct;
  const auto forward = describe_primitive<dnnl::convolution_forward>(
      dnnl::prop_kind::forward_training, direct, image, filters, bias, image, ones, none, none,
      none);
  execute_one<dnnl::convolution_forward>(multiplies_matrices, forward,
                                         {{DNNL_ARG_SRC, zeros(image)},
                                          {DNNL_ARG_WEIGHTS, zeros(filters)},
                                          {DNNL_ARG_BIAS, zeros(bias)},
                                          {DNNL_ARG_DST, zeros(image)}});
  const auto back = describe_backward<dnnl::convolution_backward_data>(
      forward, direct, image, filters, image, ones, none, none, none);
  execute_one<dnnl::convolution_backward_data>(multiplies_matrices, back,
                                               {{DNNL_ARG_DIFF_DST, zeros(image)},
                                                {DNNL_ARG_WEIGHTS, zeros(filters)},
                                                {DNNL_ARG_DIFF_SRC, zeros(image)}});
}

// Runs one AMX kernel: oneDNN compiles the functions that configure and release tiles at the first
// such run.
void convolve_by_tiles() {
  const Dims picture{1, 64, 8, 8}, filter{64, 64, 3, 3}, ones{1, 1}, none{0, 0};
  const auto any = [](const Dims& dims) { return any_desc(dims, DType::bfloat16); };
  const auto desc = describe_primitive<dnnl::convolution_forward>(
      dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any(picture),
      any(filter), any({1, 64, 6, 6}), ones, none, none);
  execute_one<dnnl::convolution_forward>(multiplies_tiles, desc,
                                         {{DNNL_ARG_SRC, zeros(desc.src_desc())},
                                          {DNNL_ARG_WEIGHTS, zeros(desc.weights_desc())},
                                          {DNNL_ARG_DST, zeros(desc.dst_desc())}});
}

}  // namespace

// "gemm:jit" multiplies matrices, "x64:gemm:jit" convolves by matrix products.
bool multiplies_matrices(const std::string& implementation) {
  return implementation.find("gemm") != implementation.npos;
}

bool multiplies_tiles(const std::string& implementation) {
  return implementation.find("amx") != implementation.npos;
}

void prepare_sgemm() {
  [[maybe_unused]] static const bool compiled =
      compile("compiling oneDNN's matrix products", bytes_of_sgemm(), multiply_floats);
}

void prepare_bfloat16_products() {
  [[maybe_unused]] static const bool compiled = compile(
      "compiling oneDNN's matrix products of bfloat16", kBytesOfBfloat16, convolve_bfloat16);
}

void prepare_tiles() {
  [[maybe_unused]] static const bool compiled =
      compile("compiling oneDNN's use of matrix tiles", kBytesOfTiles, convolve_by_tiles);
}

}  // namespace lockstep
