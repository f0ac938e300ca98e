// Tensors whose bytes lie in a file beside the model. What a model says of that file is a
// stranger's word: it may name one below its own folder, and nothing else.
#pragma once

#include <cstdint>
#include <string>

namespace onnx {
class TensorProto;
}

namespace lockstep {

// Where a file's external data may lie: in its folder, or in that of the file behind a link, as a
// cache has it that keeps all contents in one folder and links to them by name. Both empty:
// nowhere.
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

// Throws naming the tensor (`what`) and the value that is wrong.
ExternalData external_data(const onnx::TensorProto& proto, const DataPlace& place,
                           const std::string& what);

// What it says, not what is there: of a step that is not trained yet nobody needs the zeros.
void check_external(const onnx::TensorProto& proto, const std::string& what);

}  // namespace lockstep
