#include "operators/elements_cuda.h"
#include "operators/room.h"
#include "operators/shape/shape.h"

namespace lockstep {
namespace {

std::unique_ptr<Kernel> prepare_copy(const KernelRequest& request) {
  return make_kernel([bytes = request.out[0].bytes()](const KernelArgs& args) {
    args.queue->copy(args.out[0].data, args.in[0].data, bytes);
  });
}

// A tensor and what it falls into along an axis: each part has so many bytes in each row.
struct Parts {
  std::size_t rows = 1, row_bytes = 0;
  std::vector<std::size_t> widths;

  Parts(const KernelRequest& request, const TensorDesc& whole,
        const std::vector<TensorDesc>& tensors) {
    AttributeReader reader = request.attributes();
    const int64_t axis = normal_axes({reader.integer("axis", 0)}, whole.dims.size())[0];
    for (int64_t i = 0; i < axis; ++i)
      rows *= static_cast<std::size_t>(whole.dims[static_cast<std::size_t>(i)]);
    if (rows == 0) return;
    row_bytes = whole.bytes() / rows;
    for (const TensorDesc& tensor : tensors) widths.push_back(tensor.bytes() / rows);
  }

  // copy(part, offset in a row of the whole, width)
  template <class Copy>
  void for_each(const Copy& copy) const {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > 0) copy(i, offset, widths[i]);
      offset += widths[i];
    }
  }
};

std::unique_ptr<Kernel> prepare_concat(const KernelRequest& request) {
  return make_kernel([parts = Parts(request, request.out[0], request.in)](const KernelArgs& args) {
    const cudaStream_t stream = stream_of(args);
    parts.for_each([&](std::size_t i, std::size_t offset, std::size_t width) {
      check_cuda(
          cudaMemcpy2DAsync(args.out[0].as<std::byte>() + offset, parts.row_bytes, args.in[i].data,
                            width, width, parts.rows, cudaMemcpyDeviceToDevice, stream),
          "a copy");
    });
  });
}

std::unique_ptr<Kernel> prepare_split(const KernelRequest& request) {
  return make_kernel([parts = Parts(request, request.in[0], request.out)](const KernelArgs& args) {
    const cudaStream_t stream = stream_of(args);
    parts.for_each([&](std::size_t i, std::size_t offset, std::size_t width) {
      check_cuda(
          cudaMemcpy2DAsync(args.out[i].data, width, args.in[0].as<const std::byte>() + offset,
                            parts.row_bytes, width, parts.rows, cudaMemcpyDeviceToDevice, stream),
          "a copy");
    });
  });
}

}  // namespace

std::vector<KernelEntry> shape_cuda() {
  std::vector<KernelEntry> entries{{"Concat", "", prepare_concat}, {"Split", "", prepare_split}};
  for (const char* type : {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    entries.push_back({type, "", prepare_copy});
  entries.push_back({"StopGradient", kOwnDomain, prepare_copy});
  return entries;
}

}  // namespace lockstep
