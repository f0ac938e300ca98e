// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {

void read_npy_file(const std::string& bytes) {
  const MemoryFile file(bytes);
  const Literal value = read_npy(file.path());
  check(value.bytes().size() <= bytes.size(), "the array is larger than its file");
}

Seeds npy_seeds() {
  Seeds seeds;
  for (const Literal& value : {Literal(DType::float32, {2, 3}), Literal(DType::int64, {}),
                               Literal(DType::uint8, {7}), Literal(DType::boolean, {1, 0, 2})})
    seeds.push_back(written([&](const std::string& path) { write_npy(path, value); }));
  return seeds;
}

}  // namespace lockstep::fuzz
