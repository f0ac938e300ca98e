// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/cudnn_engines.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "operators/conv/cudnn_graph.h"
#include "runtime/cuda/stopwatch.h"
#include "runtime/state/session_members.h"

namespace lockstep {

struct CudnnQuestion {
  DnnOperations operations;
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  bool understood;  // cuDNN supports this combination of operations

  CudnnQuestion(const Convolution& c, const CudnnGpu& gpu) : operations(operations_of(c)) {
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const Descriptor& operation : operations.operations) raw.push_back(operation.get());
    gpu.set_graph(graph);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<int64_t>(raw.size()), raw.data());
    understood = graph.finishes();
  }
};

namespace {

// Earlier versions of cuDNN 9 lack this enumerator.
constexpr auto kStrictNan = static_cast<cudnnBackendNumericalNote_t>(9);

Convolution without_epilogue(Convolution c) {
  c.bias = c.addition = c.relu = c.statistics = false;
  return c;
}

template <class Note>
std::set<Note> notes_of(const Descriptor& engine, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type) {
  constexpr int64_t kMost = 32;
  Note notes[kMost];
  const int64_t count = engine.read(name, type, kMost, notes);
  return {notes, notes + count};
}

// False for a depthwise convolution: its filters see one channel, so there are no sums over
// channels for tensor cores.
bool asks_for_tensor_cores(const Convolution& c) {
  const bool depthwise = c.w[1] == 1 && c.x[1] > 1;
  return (c.type != DType::float32 || c.tf32) && !depthwise;
}

std::vector<Descriptor> read_all(const Descriptor& from, cudnnBackendAttributeName_t name,
                                 cudnnBackendDescriptorType_t type, int64_t most) {
  std::vector<Descriptor> all;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < most; ++i) raw.push_back(all.emplace_back(type).get());
  const int64_t count = from.read(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  all.erase(all.begin() + count, all.end());
  return all;
}

std::string text_of_knobs(const Descriptor& configuration) {
  std::string text;
  for (const Descriptor& choice :
       read_all(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t knob{};
    int64_t value = 0;
    choice.read(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob);
    choice.read(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &value);
    text += join(text.empty() ? ":" : ",", static_cast<int>(knob), "=", value);
  }
  return text;
}

}  // namespace

CudnnGpu::CudnnGpu() : name_(name_of_current_device()), handle_(handle_of_current_device()) {}

// Without the driver's library, cuDNN does not offer engines that it compiles at run time. Without
// a driver, the toolkit's stub library is sufficient.
CudnnGpu::CudnnGpu(const GpuProperties& planned) : name_(planned.name) {
  static const SharedLibrary driver(
      "CUDA's driver", {"libcuda.so.1", "libcuda.so", "/usr/local/cuda/lib64/stubs/libcuda.so"});
  properties_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                   static_cast<int64_t>(planned.json.size()), planned.json.data());
  check(properties_->finishes(), "cuDNN rejects the properties of an ", planned.name, " (",
        planned.source, ")");
}

std::string CudnnGpu::json() const {
  constexpr auto kJson = CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION;
  std::optional<Descriptor> of_device;
  if (!properties_) {
    of_device.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    of_device->set(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_).finish();
  }
  const Descriptor& from = properties_ ? *properties_ : *of_device;
  std::string text(from.count_of(kJson, CUDNN_TYPE_CHAR), ' ');
  text.resize(from.read(kJson, CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()), text.data()));
  return text.substr(0, text.find('\0'));
}

void CudnnGpu::set_graph(Descriptor& graph) const {
  if (handle_) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
}
void CudnnGpu::set_heuristics(Descriptor& heuristics) const {
  if (properties_) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties_);
}
void CudnnGpu::set_plan(Descriptor& plan) const {
  if (handle_) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
  if (properties_) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties_);
}

CudnnEngines::CudnnEngines(const Convolution& c, const CudnnGpu& gpu, bool alone)
    : gpu_(gpu), exact_(c.type == DType::float32 && !c.tf32) {
  ask(c, false);
  if (alone && !c.only_convolves()) ask(without_epilogue(c), true);
  // A stable sort: the heuristics' order decides between engines of equal rank.
  auto rank = [wants = asks_for_tensor_cores(c)](const CudnnEnginePtr& engine) {
    const bool compiles_epilogue = engine->compiles && !engine->does.only_convolves();
    return std::tuple(wants && !engine->tensor_cores, engine->fallback, compiles_epilogue);
  };
  std::stable_sort(all_.begin(), all_.end(), [&](const CudnnEnginePtr& a, const CudnnEnginePtr& b) {
    return rank(a) < rank(b);
  });
}

void CudnnEngines::ask(const Convolution& c, bool leaves_epilogue) {
  const auto question = std::make_shared<const CudnnQuestion>(c, gpu_);
  if (!question->understood) return refuse("graphs that cuDNN does not know");
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, question->graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    gpu_.set_heuristics(heuristics);
    if (!heuristics.finishes()) continue;
    for (Descriptor& configuration : read_all(
             heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
             heuristics.count_of(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR)))
      add({.question = question,
           .configuration = std::move(configuration),
           .does = c,
           .name = leaves_epilogue ? "alone/" : "",
           .fallback = mode == CUDNN_HEUR_MODE_FALLBACK,
           .leaves_epilogue = leaves_epilogue});
  }
}

void CudnnEngines::add(CudnnEngine engine) {
  const Descriptor of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = of.get();
  engine.configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  const auto notes = notes_of<cudnnBackendNumericalNote_t>(of, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                           CUDNN_TYPE_NUMERICAL_NOTE);
  engine.compiles = notes_of<cudnnBackendBehaviorNote_t>(of, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                                         CUDNN_TYPE_BEHAVIOR_NOTE)
                        .contains(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  engine.tensor_cores = notes.contains(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (notes.contains(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return refuse("not deterministic");
  if (notes.contains(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return refuse("round operands");
  if (notes.contains(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return refuse("round sums");
  if (exact_ && engine.tensor_cores) return refuse("reduce float32 to 19 bits");
  if (engine.does.relu && !notes.contains(kStrictNan)) return refuse("may lose a NaN in ReLU");
  of.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &engine.number);
  engine.name += join(engine.number) + text_of_knobs(engine.configuration);
  if (!named(engine.name)) all_.push_back(std::make_shared<const CudnnEngine>(std::move(engine)));
}

void CudnnEngines::refuse(const std::string& reason) {
  for (auto& [known, count] : refused_)
    if (known == reason) {
      ++count;
      return;
    }
  refused_.emplace_back(reason, 1);
}

CudnnEnginePtr CudnnEngines::named(const std::string& name) const {
  for (const CudnnEnginePtr& engine : all_)
    if (engine->name == name) return engine;
  return nullptr;
}

std::optional<CudnnPlan> CudnnEngines::plan_of(const CudnnEnginePtr& engine) {
  CudnnPlan made{engine};
  if (engine->compiles && !gpu_.is_here()) return made;
  gpu_.set_plan(made.plan);
  made.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine->configuration);
  if (!made.plan.finishes()) {
    char reason[256] = "";
    cudnn().last_error(reason, sizeof reason);
    refuse(join("without a plan (", reason, ")"));
    return std::nullopt;
  }
  int64_t workspace = 0;
  made.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
  made.workspace = static_cast<std::size_t>(workspace);
  if (made.workspace > kMostWorkspace) {
    refuse(join("with a workspace of over ", kMostWorkspace >> 30U, " GiB"));
    return std::nullopt;
  }
  return made;
}

std::string CudnnEngines::refusals() const {
  std::string text;
  for (const auto& [reason, count] : refused_)
    text += join(text.empty() ? "" : ", ", count, " ", reason);
  return text;
}

}  // namespace lockstep
