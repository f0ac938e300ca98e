// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/arrays.h"

#include "data/arrays/collection.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"
#include "tests/support/arrays.h"
#include "tests/support/zip_files.h"

namespace lockstep::fuzz {
namespace {

// Reads every array to its end, with decoded arrays in memory.
void read_all_arrays(const std::string& bytes, const std::string& extension) {
  const MemoryFile file(bytes);
  ArrayCollection all;
  all.room.memory = int64_t{16} << 20;
  all.read({"arrays", extension, {file.path()}});
  for (const auto& [name, array] : all.arrays()) {
    if (array.rows() == 0) continue;
    std::vector<std::byte> row(array.row_bytes());
    for (int64_t i = 0; i < std::min<int64_t>(array.rows(), 64); ++i) array.read(i, 1, row.data());
    std::vector<std::byte> rows(array.bytes());
    array.read(0, array.rows(), rows.data());
  }
}

}  // namespace

void read_npz_arrays(const std::string& bytes) { read_all_arrays(bytes, ".npz"); }
void read_csv_arrays(const std::string& text) { read_all_arrays(text, ".csv"); }

Seeds npz_seeds() {
  using testing::counting;
  Seeds seeds;
  for (const bool deflate : {false, true}) {
    seeds.push_back(testing::npz_of({{"arr_0", counting<float>({5})}}, deflate));
    seeds.push_back(
        testing::npz_of({{"x", counting<float>({3, 2})}, {"y", counting<int64_t>({3})}}, deflate));
    seeds.push_back(testing::zip_of({{"readme.txt", "no array"}}, deflate));
  }
  return seeds;
}

Seeds csv_seeds() {
  return {"a,b\n1,2\n3,4.5\n", "x.0,x.1,\"y\"\r\n1,-2e3,\"nan\"\r\n\"3\",4,inf\r\n",
          "\xEF\xBB\xBFz[0],z[1]\n9223372036854775807,0\n\n"};
}

}  // namespace lockstep::fuzz
