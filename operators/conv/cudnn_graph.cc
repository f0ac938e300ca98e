// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/cudnn_graph.h"

#include "graph/print.h"
#include "graph/type_names.h"

namespace lockstep {
namespace {

// cuDNN's identifiers of tensors.
enum Id : int64_t { kX = 1, kW, kY, kBias, kSums, kSquares, kConvolved, kBiased, kZ, kAdded };

constexpr TypeName<cudnnDataType_t> kTypes[] = {{DType::float32, CUDNN_DATA_FLOAT},
                                                {DType::float16, CUDNN_DATA_HALF},
                                                {DType::bfloat16, CUDNN_DATA_BFLOAT16}};
cudnnDataType_t type_of(DType type) { return name_in(kTypes, type, "cuDNN"); }

// The stride of each dimension, in elements.
Dims strides_of(const Dims& dims, bool channels_last) {
  std::vector<std::size_t> from_the_fastest;
  if (channels_last) from_the_fastest.push_back(1);
  for (std::size_t i = dims.size(); i-- > 0;)
    if (i != 1 || !channels_last) from_the_fastest.push_back(i);
  Dims strides(dims.size());
  int64_t stride = 1;
  for (std::size_t i : from_the_fastest) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Descriptor geometry(const Convolution& c) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Dims{static_cast<int64_t>(c.strides.size())})
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c.pads_before)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, c.pads_after)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, c.dilations)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.strides);
  return made;
}

// The attribute names for one pass of a convolution.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t geometry, x, w, y, alpha, beta;
};

Names names_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvPass::grad_x:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

class Operations {
 public:
  explicit Operations(const Convolution& c) : c_(c) {}

  DnnOperations write() {
    const Descriptor& x = tensor(kX, c_.x, c_.type);
    const Descriptor& w = tensor(kW, c_.w, c_.type);
    const bool bias_is_last = !c_.addition && !c_.relu;
    const Descriptor& convolved = c_.bias || !bias_is_last ? between(kConvolved) : result();
    convolve(x, w, convolved);
    const Descriptor* y = &convolved;
    if (c_.bias) {
      const Descriptor& biased = bias_is_last ? result() : between(kBiased);
      const Descriptor& bias = of_channels(kBias, c_.type);
      apply(CUDNN_POINTWISE_ADD, *y, &bias, biased);
      y = &biased;
    }
    if (c_.addition) {
      const Descriptor& added = c_.relu ? between(kAdded) : result();
      const Descriptor& z = tensor(kZ, c_.y, c_.type);
      apply(CUDNN_POINTWISE_ADD, *y, &z, added);
      y = &added;
    }
    if (c_.relu) {
      const Descriptor& masked = result();
      apply(CUDNN_POINTWISE_RELU_FWD, *y, nullptr, masked);
      y = &masked;
    }
    if (c_.statistics) add_up(*y);
    return std::move(made_);
  }

 private:
  const Descriptor& keep(Descriptor& part) {
    part.finish();
    return made_.parts.emplace_back(std::move(part));
  }
  void add(Descriptor& operation) {
    operation.finish();
    made_.operations.push_back(std::move(operation));
  }

  const Descriptor& tensor(Id id, const Dims& dims, DType dtype, bool in_memory = true) {
    const cudnnDataType_t type = type_of(dtype);
    const bool is_virtual = !in_memory;
    Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides_of(dims, c_.channels_last))
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Dims{id})
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Dims{16})
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    return keep(made);
  }
  const Descriptor& result() { return tensor(kY, c_.y, c_.type); }
  const Descriptor& between(Id id) { return tensor(id, c_.y, DType::float32, false); }
  const Descriptor& of_channels(Id id, DType type) {
    Dims dims(c_.y.size(), 1);
    dims[1] = c_.y[1];
    return tensor(id, dims, type);
  }

  void convolve(const Descriptor& x, const Descriptor& w, const Descriptor& y) {
    const Names names = names_of(c_.pass);
    Descriptor shape = geometry(c_);
    Descriptor operation(names.type);
    operation.set(names.geometry, keep(shape))
        .set(names.x, x)
        .set(names.w, w)
        .set(names.y, y)
        .set(names.alpha, 1.0F)  // a float, as sums are; with a double most engines use 0 for 1
        .set(names.beta, c_.adds ? 1.0F : 0.0F);
    add(operation);
  }

  // Computes y = x + b or y = relu(x), element by element.
  void apply(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b,
             const Descriptor& y) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type)
        .set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &nan);
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(how))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    add(operation);
  }

  // Computes each channel's sum and sum of squares.
  void add_up(const Descriptor& y) {
    const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    Descriptor operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode)
        .set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type)
        .set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y)
        .set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, of_channels(kSums, DType::float32))
        .set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, of_channels(kSquares, DType::float32));
    add(operation);
  }

  const Convolution& c_;
  DnnOperations made_;
};

}  // namespace

DnnOperations operations_of(const Convolution& convolution) {
  return Operations(convolution).write();
}

Descriptor pointers_to(const Convolution& c, const ConvolutionData& data, void* workspace) {
  std::vector<void*> pointers{data.x, data.w, data.y};
  Dims ids{kX, kW, kY};
  auto also = [&](bool there, Id id, void* pointer) {
    if (!there) return;
    ids.push_back(id);
    pointers.push_back(pointer);
  };
  also(c.bias, kBias, data.bias);
  also(c.addition, kZ, data.z);
  also(c.statistics, kSums, data.sums);
  also(c.statistics, kSquares, data.squares);
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<int64_t>(pointers.size()), pointers.data())
      .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
      .finish();
  return pack;
}

Convolution in_two_dimensions(Convolution c) {
  if (c.strides.size() != 1) return c;
  for (Dims* dims : {&c.x, &c.w, &c.y}) dims->insert(dims->begin() + 2, 1);
  for (Dims* ones : {&c.strides, &c.dilations}) ones->insert(ones->begin(), 1);
  for (Dims* zeros : {&c.pads_before, &c.pads_after}) zeros->insert(zeros->begin(), 0);
  return c;
}

}  // namespace lockstep
