#include "runtime/cuda/dnn.h"

#include <cudnn.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/library.h"

namespace lockstep {
namespace {

struct Api {
  SharedLibrary library{"cuDNN", {"libcudnn.so.9"}};
  decltype(cudnnCreate)* create_handle;
  decltype(cudnnSetStream)* set_stream;
  decltype(cudnnGetErrorString)* text_of;
  decltype(cudnnBackendCreateDescriptor)* create;
  decltype(cudnnBackendDestroyDescriptor)* destroy;
  decltype(cudnnBackendSetAttribute)* set;
  decltype(cudnnBackendGetAttribute)* get;
  decltype(cudnnBackendFinalize)* finalize;
  decltype(cudnnBackendExecute)* execute;

  Api() {
    library.load(create_handle, "cudnnCreate");
    library.load(set_stream, "cudnnSetStream");
    library.load(text_of, "cudnnGetErrorString");
    library.load(create, "cudnnBackendCreateDescriptor");
    library.load(destroy, "cudnnBackendDestroyDescriptor");
    library.load(set, "cudnnBackendSetAttribute");
    library.load(get, "cudnnBackendGetAttribute");
    library.load(finalize, "cudnnBackendFinalize");
    library.load(execute, "cudnnBackendExecute");
  }
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) fail("cuDNN: ", what, ": ", api().text_of(status));
}

// One for each device, for the life of the program.
cudnnHandle_t handle_of_current_device() {
  static std::mutex mutex;
  static std::map<int, cudnnHandle_t> handles;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  std::lock_guard lock(mutex);
  cudnnHandle_t& handle = handles[device];
  if (!handle) check_dnn(api().create_handle(&handle), "a handle");
  return handle;
}

// A descriptor of the graph API: made, filled, finalized.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check_dnn(api().create(type, &descriptor_), "a descriptor");
  }
  ~Descriptor() {
    if (descriptor_) api().destroy(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values) {
    check_dnn(api().set(descriptor_, name, type, count, values), "an attribute");
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Dims& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, double value) {
    return set(name, CUDNN_TYPE_DOUBLE, 1, &value);
  }
  Descriptor& finish() {
    check_dnn(api().finalize(descriptor_), "a descriptor");
    return *this;
  }
  bool finishes() { return api().finalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

  // Of the values that there are, the first `most`; how many it took.
  int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
               void* values) const {
    int64_t count = 0;
    check_dnn(api().get(descriptor_, name, type, most, &count, values), "an attribute");
    return std::min(count, most);
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

constexpr int64_t kX = 'x', kW = 'w', kY = 'y';

cudnnDataType_t type_of(DType type) {
  if (type == DType::float16) return CUDNN_DATA_HALF;
  return type == DType::bfloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

// Elements from one place to the next in each dimension.
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

Descriptor tensor(int64_t id, const Dims& dims, const Convolution& of) {
  const cudnnDataType_t type = type_of(of.type);
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides_of(dims, of.channels_last))
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Dims{id})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Dims{16})
      .finish();
  return made;
}

// cuDNN has no convolutions of one spatial dimension: a second one of size 1 is put before it.
Convolution in_two_dimensions(Convolution c) {
  if (c.strides.size() != 1) return c;
  for (Dims* dims : {&c.x, &c.w, &c.y}) dims->insert(dims->begin() + 2, 1);
  for (Dims* ones : {&c.strides, &c.dilations}) ones->insert(ones->begin(), 1);
  for (Dims* zeros : {&c.pads_before, &c.pads_after}) zeros->insert(zeros->begin(), 0);
  return c;
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
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.strides)
      .finish();
  return made;
}

// The names of one kind of convolution's attributes.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t geometry, x, w, y, alpha, beta;
};

Names names_of(ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionKind::by_data:
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

}  // namespace

struct DnnConvolution::Chosen {
  cudnnHandle_t handle = handle_of_current_device();
  Descriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  int64_t engine = -1;
  int64_t workspace = 0;

  explicit Chosen(const Convolution& c) : wide_(c.type == DType::float32) {
    const Descriptor x = tensor(kX, c.x, c), w = tensor(kW, c.w, c), y = tensor(kY, c.y, c);
    const Descriptor shape = geometry(c);
    const Names names = names_of(c.kind);
    Descriptor operation(names.type);
    operation.set(names.geometry, shape)
        .set(names.x, x)
        .set(names.w, w)
        .set(names.y, y)
        .set(names.alpha, 1.0)
        .set(names.beta, 0.0)
        .finish();
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
        .finish();
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      if (engine < 0) choose(graph, mode);
    supported(engine >= 0, "cuDNN has no exact engine for this convolution");
  }

 private:
  void choose(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (!heuristics.finishes()) return;
    constexpr int64_t kMost = 32;
    std::vector<Descriptor> configurations;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (int64_t i = 0; i < kMost; ++i) {
      configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      raw.push_back(configurations.back().get());
    }
    const int64_t count = heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, raw.data());
    for (int64_t i = 0; i < count && engine < 0; ++i)
      take(configurations[static_cast<std::size_t>(i)]);
  }

  void take(const Descriptor& configuration) {
    Descriptor of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = of.get();
    configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
    if (!is_exact(of)) return;
    Descriptor candidate(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    candidate.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (!candidate.finishes()) return;
    candidate.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
    of.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &engine);
    plan = std::move(candidate);
  }

  // The same bits in every run, and nothing rounded further than the operands are: the units for
  // matrices take float32 as 19 bits.
  bool is_exact(const Descriptor& engine) const {
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    const int64_t count = engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
    for (int64_t i = 0; i < count; ++i)
      if (notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
          notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
          notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC ||
          (wide_ && notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
        return false;
    return true;
  }

  bool wide_;
};

DnnConvolution::DnnConvolution(const Convolution& convolution, bool has_device) {
  if (has_device) chosen_ = std::make_unique<Chosen>(in_two_dimensions(convolution));
}
DnnConvolution::~DnnConvolution() = default;

std::size_t DnnConvolution::workspace_bytes() const {
  return chosen_ ? static_cast<std::size_t>(chosen_->workspace) : 0;
}

std::string DnnConvolution::describe() const {
  return chosen_ ? join("cudnn engine ", chosen_->engine) : "cudnn, engine chosen on a device";
}

void DnnConvolution::run(cudaStream_t stream, void* x, void* w, void* y, void* workspace) {
  check(chosen_ != nullptr, "this plan was made without a GPU");
  const cudnnHandle_t handle = handle_of_current_device();
  check_dnn(api().set_stream(handle, stream), "a stream");
  void* pointers[] = {x, w, y};
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, Dims{kX, kW, kY})
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
      .finish();
  check_dnn(api().execute(handle, chosen_->plan.get(), pack.get()), "a convolution");
}

bool dnn_is_there() {
  static const SharedLibrary library("cuDNN", {"libcudnn.so.9"});
  return library.found();
}

}  // namespace lockstep
