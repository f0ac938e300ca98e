#include "operators/conv/cudnn_convolution.h"

#include <cudnn.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "graph/error.h"
#include "operators/conv/cudnn_api.h"
#include "operators/conv/cudnn_graph.h"
#include "operators/conv/engine_choices.h"
#include "runtime/cuda/check.h"
#include "runtime/cuda/stopwatch.h"

namespace lockstep {
namespace {

// Its work on the result, in words: "bias, ReLU".
std::string epilogue_text(const Convolution& c) {
  std::string text;
  for (auto [there, word] : {std::pair{c.bias, "bias"}, std::pair{c.relu, "ReLU"},
                             std::pair{c.statistics, "statistics"}})
    if (there) text += join(text.empty() ? "" : ", ", word);
  return text;
}

// The key of a stored choice: equal texts mean equal candidates in the same order.
std::string problem_text(const Convolution& c) {
  const char* const kinds[] = {"forward", "by_data", "by_weight"};
  return join("cudnn ", cudnn().version(), ", ", name_of_current_device(), ", convolution ",
              kinds[static_cast<int>(c.kind)], " ", c.type, c.tf32 ? " as tf32" : "",
              c.channels_last ? " NHWC" : " NCHW", " x ", text_of(c.x), " w ", text_of(c.w), " y ",
              text_of(c.y), " strides ", text_of(c.strides), " dilations ", text_of(c.dilations),
              " pads ", text_of(c.pads_before), text_of(c.pads_after),
              c.only_convolves() ? "" : " with " + epilogue_text(c));
}

Convolution without_epilogue(Convolution c) {
  c.bias = c.relu = c.statistics = false;
  return c;
}

// The question to cuDNN; must outlive the answers.
struct Question {
  DnnOperations operations;
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  bool understood;  // cuDNN supports this combination of operations

  Question(const Convolution& c, const cudnnHandle_t& handle) : operations(operations_of(c)) {
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const Descriptor& operation : operations.operations) raw.push_back(operation.get());
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(raw.size()), raw.data());
    understood = graph.finishes();
  }
};

struct Candidate {
  std::shared_ptr<const Question> question;
  Descriptor configuration;
  Descriptor plan;
  Convolution does;  // with the fused epilogue, or the convolution alone
  int64_t engine = 0;
  int64_t workspace = 0;

  bool needs_epilogue(const Convolution& wanted) const {
    return does.only_convolves() && !wanted.only_convolves();
  }
  void run(cudaStream_t stream, const ConvolutionData& data, void* workspace_data) const {
    const cudnnHandle_t handle = handle_of_current_device();
    check_cudnn(cudnn().set_stream(handle, stream), "a stream");
    const Descriptor pack = pointers_to(does, data, workspace_data);
    check_cudnn(cudnn().execute(handle, plan.get(), pack.get()), "a convolution");
  }
};

// Engines that cuDNN's heuristics propose for a convolution, best first, except those that round
// further than the operands are, are not deterministic, or may turn a NaN into a number.
class Candidates {
 public:
  // At most `most` fused engines, then as many that only convolve, if `apart`, but none of those if
  // a single engine is requested and found.
  Candidates(const Convolution& c, bool apart, std::size_t most)
      : exact_(c.type == DType::float32 && !c.tf32) {
    add_all(c, most);
    if (apart && !c.only_convolves() && (most > 1 || all_.empty()))
      add_all(without_epilogue(c), all_.size() + most);
    supported(!all_.empty(), "cuDNN has no exact engine for this convolution");
  }

  std::vector<Candidate>& all() { return all_; }

 private:
  void add_all(const Convolution& c, std::size_t until) {
    const std::size_t before = all_.size();
    const auto question = std::make_shared<const Question>(c, handle_);
    if (!question->understood) return;
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      if (all_.size() == before) propose(c, question, mode, until);
  }

  void propose(const Convolution& c, const std::shared_ptr<const Question>& question,
               cudnnBackendHeurMode_t mode, std::size_t until) {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, question->graph)
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
    for (int64_t i = 0; i < count && all_.size() < until; ++i)
      add({question, std::move(configurations[i]),
           Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), c});
  }

  void add(Candidate candidate) {
    Descriptor of(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = of.get();
    candidate.configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                 &raw);
    if (!is_exact(of) || (candidate.does.relu && !notes_of(of).contains(kStrictNan))) return;
    candidate.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, candidate.configuration);
    if (!candidate.plan.finishes()) return;
    candidate.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                        &candidate.workspace);
    of.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &candidate.engine);
    all_.push_back(std::move(candidate));
  }

  // Earlier versions of cuDNN 9 have no name for it.
  static constexpr auto kStrictNan = static_cast<cudnnBackendNumericalNote_t>(9);

  static std::set<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
    constexpr int64_t kMost = 32;
    cudnnBackendNumericalNote_t notes[kMost];
    const int64_t count =
        engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, kMost, notes);
    return {notes, notes + count};
  }

  // Matrix units reduce float32 to 19 bits.
  bool is_exact(const Descriptor& engine) const {
    const auto notes = notes_of(engine);
    return !notes.contains(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
           !notes.contains(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) &&
           !notes.contains(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) &&
           !(exact_ && notes.contains(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  }

  cudnnHandle_t handle_ = handle_of_current_device();
  bool exact_;
  std::vector<Candidate> all_;
};

// The fastest, including a separate epilogue, timed on its own memory. Engines that cuDNN accepts
// but cannot run, or whose workspace is more than there is, are skipped.
std::size_t fastest_of(const std::vector<Candidate>& candidates, const Convolution& c,
                       const Epilogue& epilogue) {
  auto bytes = [&](const Dims& dims) {
    return static_cast<std::size_t>(element_count(dims)) * size_of(c.type);
  };
  const std::size_t of_channels = static_cast<std::size_t>(c.y[1]) * sizeof(float);
  const DeviceBuffer x(bytes(c.x)), w(bytes(c.w)), y(bytes(c.y));
  const DeviceBuffer bias(of_channels), sums(of_channels), squares(of_channels);
  const ConvolutionData data{x.data(),    w.data(),    y.data(),
                             bias.data(), sums.data(), squares.data()};
  std::optional<std::size_t> best;
  double best_time = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const bool apart = candidate.needs_epilogue(c);
    try {
      const DeviceBuffer workspace(
          std::max(static_cast<std::size_t>(candidate.workspace), epilogue.workspace_bytes));
      auto work = [&](cudaStream_t stream) {
        candidate.run(stream, data, workspace.data());
        if (apart) epilogue.run(stream, data, workspace.data());
      };
      const double time = seconds_on_device(work);
      if (best && time >= best_time) continue;
      best = i;
      best_time = time;
    } catch (const Error&) {  // other candidates remain
      cudaGetLastError();     // or the next launch would report this error
    }
  }
  check(best.has_value(), "none of cuDNN's ", candidates.size(), " engines runs");
  return *best;
}

}  // namespace

struct CudnnConvolution::Chosen {
  Candidate candidate;
  std::string reason;
  bool apart;  // the epilogue runs separately
};

CudnnConvolution::CudnnConvolution(const Convolution& convolution, bool has_device,
                                   Epilogue epilogue)
    : convolution_(in_two_dimensions(convolution)), epilogue_(std::move(epilogue)) {
  if (!has_device) return;
  const Convolution& c = convolution_;
  EngineChoices* const choices = engine_choices();
  constexpr std::size_t kMostTimed = 16;
  Candidates candidates(c, epilogue_.run != nullptr, choices ? kMostTimed : 1);
  std::vector<Candidate>& all = candidates.all();
  std::size_t taken = 0;
  std::string reason = "by cuDNN's heuristics";
  if (choices) {
    const std::string problem = problem_text(c);
    std::optional<int64_t> kept = choices->find(problem);
    reason = join(kept ? "kept" : "timed", " among ", all.size());
    if (!kept) {
      kept = static_cast<int64_t>(fastest_of(all, c, epilogue_));
      choices->keep(problem, *kept);
    }
    check(*kept >= 0 && *kept < static_cast<int64_t>(all.size()), choices->path(),
          ": there is no engine ", *kept, " among ", all.size(), " for '", problem,
          "'; remove that line");
    taken = static_cast<std::size_t>(*kept);
  }
  const bool apart = all[taken].needs_epilogue(c);
  chosen_ = std::make_unique<Chosen>(Chosen{std::move(all[taken]), reason, apart});
}
CudnnConvolution::~CudnnConvolution() = default;

std::size_t CudnnConvolution::workspace_bytes() const {
  if (!chosen_) return epilogue_.workspace_bytes;
  const auto own = static_cast<std::size_t>(chosen_->candidate.workspace);
  return chosen_->apart ? std::max(own, epilogue_.workspace_bytes) : own;
}

std::string CudnnConvolution::describe() const {
  std::string text = chosen_
                         ? join("cudnn engine ", chosen_->candidate.engine, ", ", chosen_->reason)
                         : "cudnn, engine chosen on a device";
  if (convolution_.tf32) text += ", tf32";
  if (convolution_.only_convolves()) return text;
  return join(text, chosen_ && chosen_->apart ? ", then " : ", with ", epilogue_text(convolution_));
}

void CudnnConvolution::run(cudaStream_t stream, const ConvolutionData& data, void* workspace) {
  check(chosen_ != nullptr, "this plan was made without a GPU");
  chosen_->candidate.run(stream, data, workspace);
  if (chosen_->apart) epilogue_.run(stream, data, workspace);
}

void describe_to_cudnn(const Convolution& convolution) {
  operations_of(in_two_dimensions(convolution));
}

bool cudnn_is_there() {
  static const SharedLibrary library("cuDNN", {"libcudnn.so.9"});
  return library.found();
}

}  // namespace lockstep
