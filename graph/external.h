// SPDX-License-Identifier: Apache-2.0
// Tensors whose bytes lie in a file beside the model. The model is untrusted: it may only name
// files below its own folder.
#pragma once

#include <cstdint>
#include <string>

namespace onnx {
class TensorProto;
}

namespace lockstep {

// The folders allowed for a file's external data: its own, and that of the link's target, as in a
// cache that keeps all contents in one folder and links to them by name. Both empty: none.
struct DataPlace {
  std::string folder;
  std::string real;
};
DataPlace data_place_of(const std::string& file);

struct ExternalData {
  std::string path;  // without links
  int64_t offset = 0;
  int64_t length = 0;  // from the tensor, else to the end of the file
};

// Throws naming the tensor (`what`) and the wrong value.
ExternalData external_data(const onnx::TensorProto& proto, const DataPlace& place,
                           const std::string& what);

// Checks the description without opening the file: an untrained step does not need its zeros.
void check_external(const onnx::TensorProto& proto, const std::string& what);

}  // namespace lockstep
