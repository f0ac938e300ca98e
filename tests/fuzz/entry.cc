// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry point. One program contains every target. FUZZ_TARGET in the environment
// selects the target, and libFuzzer's child processes inherit it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t most);

namespace {

const lockstep::fuzz::Target& chosen() {
  static const lockstep::fuzz::Target& target = [&]() -> const lockstep::fuzz::Target& {
    const char* name = std::getenv("FUZZ_TARGET");
    try {
      return lockstep::fuzz::target_named(name ? name : "");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "FUZZ_TARGET: %s\n", error.what());
      std::exit(2);
    }
  }();
  return target;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  chosen();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  lockstep::fuzz::try_reading(chosen(), std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  using namespace lockstep::fuzz;
  const std::string old(reinterpret_cast<char*>(data), size);
  std::string fresh;
  if (chosen().name == "onnx" && seed % 8 != 0)
    fresh = mutated_onnx(old, seed / 8, LLVMFuzzerMutate);
  if (fresh.empty() || fresh.size() > most) {
    size = LLVMFuzzerMutate(data, size, most);
    fresh.assign(reinterpret_cast<char*>(data), size);
  }
  if (chosen().name == "picture" && seed % 4 != 0) fresh = with_png_checksums(std::move(fresh));
  std::memcpy(data, fresh.data(), fresh.size());
  return fresh.size();
}
