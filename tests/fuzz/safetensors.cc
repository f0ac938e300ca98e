// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/safetensors.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {

void read_safetensors_file(const std::string& bytes) {
  const MemoryFile file(bytes);
  const Safetensors content = read_safetensors(file.path());
  for (const auto& [name, value] : content.tensors)
    check(value.bytes().size() <= bytes.size(), "'", name, "' is larger than its file");
}

Seeds safetensors_seeds() {
  const auto ramp = [](DType type, const Dims& dims) {
    Literal value(type, dims);
    for (std::size_t i = 0; i < value.bytes().size(); ++i) value.bytes()[i] = std::byte(i);
    return value;
  };
  const Literal matrix = ramp(DType::float32, {2, 3}), scalar = ramp(DType::int64, {}),
                none = ramp(DType::float16, {0, 4}), flags = ramp(DType::uint8, {5});
  const auto file = [](const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
    return written([&](const std::string& path) { write_safetensors(path, tensors, metadata); });
  };
  return {file({}, {}), file({{"w", view_of(matrix)}}, {{"steps", "7"}}),
          file({{"w", view_of(matrix)},
                {"w_momentum", view_of(matrix)},
                {"count", view_of(scalar)},
                {"none", view_of(none)},
                {"flags@1", view_of(flags)}},
               {{"steps", "12"}, {"format", "lockstep"}, {"SOLVER.BASE_LR", "0.1"}})};
}

}  // namespace lockstep::fuzz
