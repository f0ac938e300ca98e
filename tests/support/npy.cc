#include "tests/support/npy.h"

#include "graph/file.h"

namespace lockstep::testing {
namespace {

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "<f4";
    case DType::float64:
      return "<f8";
    case DType::int64:
      return "<i8";
    case DType::int32:
      return "<i4";
    case DType::uint8:
      return "|u1";
    case DType::int8:
      return "|i1";
    case DType::boolean:
      return "|b1";
    default:
      fail("no .npy for ", dtype);
  }
}

}  // namespace

void write_npy(const std::string& path, const Literal& value) {
  std::string shape;
  for (int64_t size : value.dims()) shape += std::to_string(size) + ",";
  std::string header = join("{'descr': '", descr_of(value.dtype()),
                            "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
  write_file(path, text);
}

}  // namespace lockstep::testing
