// SPDX-License-Identifier: Apache-2.0
// Tensors stored in a file beside the model. The model is untrusted: it may only name files below
// its folder.
#pragma once

#include <cstdint>
#include <string>

namespace onnx {
class TensorProto;
}

namespace lockstep {

// The folders allowed for a file's external data: the file's folder and, for a link, the folder of
// the link's target. A cache may keep all contents in one folder and link to them by name. If both
// are empty, external data is refused.
struct DataPlace {
  std::string folder;
  std::string real;
};
DataPlace data_place_of(const std::string& file);

struct ExternalData {
  std::string path;  // without links
  int64_t offset = 0;
  int64_t length = 0;  // as the tensor says, else to the end of the file
};

// Throws naming the tensor (`what`) and the wrong value.
ExternalData external_data(const onnx::TensorProto& proto, const DataPlace& place,
                           const std::string& what);

// Checks the description without opening the file: an untrained step does not read its states.
void check_external(const onnx::TensorProto& proto, const std::string& what);

}  // namespace lockstep
