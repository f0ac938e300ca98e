#include "runtime/cuda/dnn.h"

#include <cudnn.h>

#include <optional>
#include <vector>

#include "graph/error.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/dnn_api.h"
#include "runtime/cuda/stopwatch.h"
#include "runtime/engine_choices.h"

namespace lockstep {
namespace {

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

Descriptor operation_of(const Convolution& c) {
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
  return operation;
}

// What is kept about a choice: the same text means the same candidates in the same order.
std::string problem_text(const Convolution& c) {
  const char* const kinds[] = {"forward", "by_data", "by_weight"};
  return join("cudnn ", dnn_api().version(), ", ", name_of_current_device(), ", convolution ",
              kinds[static_cast<int>(c.kind)], " ", c.type, c.channels_last ? " NHWC" : " NCHW",
              " x ", text_of(c.x), " w ", text_of(c.w), " y ", text_of(c.y), " strides ",
              text_of(c.strides), " dilations ", text_of(c.dilations), " pads ",
              text_of(c.pads_before), text_of(c.pads_after));
}

struct Candidate {
  Descriptor plan;
  int64_t engine = 0;
  int64_t workspace = 0;

  void run(cudaStream_t stream, void* x, void* w, void* y, void* workspace_data) const {
    const cudnnHandle_t handle = handle_of_current_device();
    check_dnn(dnn_api().set_stream(handle, stream), "a stream");
    void* pointers[] = {x, w, y};
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, Dims{kX, kW, kY})
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace_data)
        .finish();
    check_dnn(dnn_api().execute(handle, plan.get(), pack.get()), "a convolution");
  }
};

// Engines that cuDNN's heuristics propose for a convolution, best first, but for those that round
// further than the operands are or give other bits from run to run.
class Candidates {
 public:
  Candidates(const Convolution& c, std::size_t most)
      : most_(most), wide_(c.type == DType::float32) {
    const Descriptor operation = operation_of(c);
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_)
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
        .finish();
    propose(graph, CUDNN_HEUR_MODE_A);
    if (all_.empty()) propose(graph, CUDNN_HEUR_MODE_FALLBACK);
    supported(!all_.empty(), "cuDNN has no exact engine for this convolution");
  }

  std::vector<Candidate>& all() { return all_; }

 private:
  void propose(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
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
    for (int64_t i = 0; i < count && all_.size() < most_; ++i)
      add(configurations[static_cast<std::size_t>(i)]);
  }

  void add(const Descriptor& configuration) {
    Descriptor of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = of.get();
    configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
    if (!is_exact(of)) return;
    Candidate candidate{Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)};
    candidate.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (!candidate.plan.finishes()) return;
    candidate.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                        &candidate.workspace);
    of.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &candidate.engine);
    all_.push_back(std::move(candidate));
  }

  // The units for matrices take float32 as 19 bits.
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

  cudnnHandle_t handle_ = handle_of_current_device();
  std::size_t most_;
  bool wide_;
  std::vector<Candidate> all_;
};

// The fastest, on memory of its own.
std::size_t fastest_of(const std::vector<Candidate>& candidates, const Convolution& c) {
  auto bytes = [&](const Dims& dims) {
    return static_cast<std::size_t>(element_count(dims)) * size_of(c.type);
  };
  DeviceBuffer x(bytes(c.x)), w(bytes(c.w)), y(bytes(c.y));
  std::size_t best = 0;
  double best_time = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    DeviceBuffer workspace(static_cast<std::size_t>(candidates[i].workspace));
    const double time = seconds_on_device([&](cudaStream_t stream) {
      candidates[i].run(stream, x.data(), w.data(), y.data(), workspace.data());
    });
    if (i > 0 && time >= best_time) continue;
    best = i;
    best_time = time;
  }
  return best;
}

}  // namespace

struct DnnConvolution::Chosen {
  Candidate candidate;
  std::string reason;
};

DnnConvolution::DnnConvolution(const Convolution& convolution, bool has_device) {
  if (!has_device) return;
  const Convolution c = in_two_dimensions(convolution);
  EngineChoices* const choices = engine_choices();
  constexpr std::size_t kMostTimed = 16;
  Candidates candidates(c, choices ? kMostTimed : 1);
  std::vector<Candidate>& all = candidates.all();
  std::size_t taken = 0;
  std::string reason = "by cuDNN's heuristics";
  if (choices) {
    const std::string problem = problem_text(c);
    std::optional<int64_t> kept = choices->find(problem);
    reason = join(kept ? "kept" : "timed", " among ", all.size());
    if (!kept) {
      kept = static_cast<int64_t>(fastest_of(all, c));
      choices->keep(problem, *kept);
    }
    check(*kept >= 0 && *kept < static_cast<int64_t>(all.size()), choices->path(), ": number ",
          *kept, " of ", all.size(), " engines for '", problem, "'; remove that line");
    taken = static_cast<std::size_t>(*kept);
  }
  chosen_ = std::make_unique<Chosen>(Chosen{std::move(all[taken]), reason});
}
DnnConvolution::~DnnConvolution() = default;

std::size_t DnnConvolution::workspace_bytes() const {
  return chosen_ ? static_cast<std::size_t>(chosen_->candidate.workspace) : 0;
}

std::string DnnConvolution::describe() const {
  return chosen_ ? join("cudnn engine ", chosen_->candidate.engine, ", ", chosen_->reason)
                 : "cudnn, engine chosen on a device";
}

void DnnConvolution::run(cudaStream_t stream, void* x, void* w, void* y, void* workspace) {
  check(chosen_ != nullptr, "this plan was made without a GPU");
  chosen_->candidate.run(stream, x, w, y, workspace);
}

void describe_to_dnn(const Convolution& convolution) {
  operation_of(in_two_dimensions(convolution));
}

bool dnn_is_there() {
  static const SharedLibrary library("cuDNN", {"libcudnn.so.9"});
  return library.found();
}

}  // namespace lockstep
