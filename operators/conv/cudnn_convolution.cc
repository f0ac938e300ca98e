// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/cudnn_convolution.h"

#include <cudnn.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>

#include "lockstep/error.h"
#include "operators/conv/cudnn_graph.h"
#include "operators/conv/cudnn_timing.h"
#include "operators/conv/engine_choices.h"
#include "runtime/cuda/check.h"
#include "runtime/state/session_members.h"

namespace lockstep {

struct ChosenEngine {
  CudnnPlan plan;
  std::string how;

  const CudnnEngine& engine() const { return *plan.engine; }
};

namespace {

// The work on the convolution's result, in words: "bias, ReLU".
std::string epilogue_text(const Convolution& c) {
  std::string text;
  for (auto [there, word] : {std::pair{c.bias, "bias"}, std::pair{c.addition, "addition"},
                             std::pair{c.relu, "ReLU"}, std::pair{c.statistics, "statistics"}})
    if (there) text += join(text.empty() ? "" : ", ", word);
  return text;
}

class Choice {
 public:
  Choice(const Convolution& c, const CudnnGpu& gpu, const Epilogue& epilogue,
         EngineChoices* choices)
      : c_(c),
        epilogue_(epilogue),
        choices_(choices),
        may_time_(gpu.is_here()),
        problem_(problem_text(c, gpu.name())),
        engines_(c, gpu, epilogue.run != nullptr) {}

  ChosenEngine make() {
    supported(!engines_.all().empty(), "cuDNN has no exact engine for this convolution",
              in_brackets(engines_.refusals()));
    if (!choices_) return first();
    if (const auto kept = choices_->find(problem_)) return named(*kept);
    if (!may_time_) return first();
    constexpr int kMostTimed = 16;
    FastestEngine fastest = fastest_of(engines_, c_, epilogue_, kMostTimed);
    choices_->keep(problem_, fastest.plan.engine->name);
    return {std::move(fastest.plan), "timed among " + std::to_string(fastest.timed)};
  }

 private:
  static std::string in_brackets(const std::string& refusals) {
    return refusals.empty() ? "" : " (" + refusals + ")";
  }

  ChosenEngine first() {
    for (const CudnnEnginePtr& engine : engines_.all())
      if (std::optional<CudnnPlan> plan = engines_.plan_of(engine))
        return {std::move(*plan), join("by cuDNN's heuristics among ", engines_.all().size(),
                                       in_brackets(engines_.refusals()))};
    throw Unsupported(join("cuDNN makes none of its ", engines_.all().size(),
                           " engines for this convolution", in_brackets(engines_.refusals())));
  }

  ChosenEngine named(const std::string& name) {
    const CudnnEnginePtr engine = engines_.named(name);
    std::optional<CudnnPlan> plan = engine ? engines_.plan_of(engine) : std::nullopt;
    check(plan.has_value(), choices_->path(), ": cuDNN does not offer engine ", name, " for '",
          problem_, "'", in_brackets(engines_.refusals()), "; remove that line");
    return {std::move(*plan), "kept"};
  }

  const Convolution& c_;
  const Epilogue& epilogue_;
  EngineChoices* const choices_;
  const bool may_time_;
  const std::string problem_;
  CudnnEngines engines_;
};

// The recently chosen engines. A network's equal convolutions, its replicas, and a plan's second
// pass over a node share them. Only the most recent choices are kept: images of ever new sizes must
// not fill the memory.
std::shared_ptr<const ChosenEngine> remembered(const std::string& key,
                                               const std::function<ChosenEngine()>& make) {
  constexpr std::size_t kMost = 512;
  static std::mutex mutex;
  // Never freed: CUDA may shut down first.
  static auto* last = new std::deque<std::pair<std::string, std::shared_ptr<const ChosenEngine>>>;
  std::lock_guard lock(mutex);
  for (const auto& [known, chosen] : *last)
    if (known == key) return chosen;
  last->emplace_front(key, std::make_shared<const ChosenEngine>(make()));
  if (last->size() > kMost) last->pop_back();
  return last->front().second;
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "the current device");
  return device;
}

}  // namespace

std::string problem_text(const Convolution& c, const std::string& gpu) {
  const char* const kinds[] = {"forward", "by_data", "by_weight"};
  return join("cudnn ", cudnn().version(), ", ", gpu, ", convolution ",
              kinds[static_cast<int>(c.pass)], " ", c.type, c.tf32 ? " as tf32" : "",
              c.channels_last ? " NHWC" : " NCHW", " x ", text_of(c.x), " w ", text_of(c.w), " y ",
              text_of(c.y), " strides ", text_of(c.strides), " dilations ", text_of(c.dilations),
              " pads ", text_of(c.pads_before), text_of(c.pads_after), c.adds ? " added" : "",
              c.only_convolves() ? "" : " with " + epilogue_text(c));
}

CudnnConvolution::CudnnConvolution(const Convolution& convolution, const ConvolutionGpu& where,
                                   Epilogue epilogue)
    : CudnnConvolution(convolution, where, std::move(epilogue), engine_choices()) {}

CudnnConvolution::CudnnConvolution(const Convolution& convolution, const ConvolutionGpu& where,
                                   Epilogue epilogue, EngineChoices* choices)
    : convolution_(in_two_dimensions(convolution)),
      epilogue_(std::move(epilogue)),
      is_here_(where.is_here) {
  if (!where.is_here && !where.planned) return;
  const CudnnGpu gpu = where.planned ? CudnnGpu(*where.planned) : CudnnGpu();
  const std::string place = where.planned ? where.planned->json : join("gpu:", current_device());
  const std::string problem = problem_text(convolution_, gpu.name());
  chosen_ = remembered(join(place, epilogue_.run ? " or alone, " : " ", problem),
                       [&] { return Choice(convolution_, gpu, epilogue_, choices).make(); });
}
CudnnConvolution::~CudnnConvolution() = default;

std::size_t CudnnConvolution::workspace_bytes() const {
  if (!chosen_) return epilogue_.workspace_bytes;
  const std::size_t own = chosen_->plan.workspace;
  return chosen_->engine().leaves_epilogue ? std::max(own, epilogue_.workspace_bytes) : own;
}

std::string CudnnConvolution::describe() const {
  std::string text = "cudnn, engine chosen on a device";
  if (chosen_)
    text = join("cudnn engine ", chosen_->engine().number,
                chosen_->engine().tensor_cores ? " on tensor cores, " : ", ",
                chosen_->engine().compiles ? "compiled at run time, " : "", chosen_->how);
  if (convolution_.tf32) text += ", tf32";
  if (convolution_.adds) text += ", with addition";
  if (convolution_.only_convolves()) return text;
  const bool then = chosen_ && chosen_->engine().leaves_epilogue;
  return join(text, then ? ", then " : ", with ", epilogue_text(convolution_));
}

void CudnnConvolution::run(cudaStream_t stream, const ConvolutionData& data, void* workspace) {
  check(is_here_, "this plan was made without a GPU");
  run_plan(chosen_->plan, stream, data, workspace);
  if (chosen_->engine().leaves_epilogue) epilogue_.run(stream, data, workspace);
}

void describe_to_cudnn(const Convolution& convolution) {
  operations_of(in_two_dimensions(convolution));
}

std::string json_of_current_gpu() { return CudnnGpu().json(); }

bool cudnn_is_there() { return cudnn_library().found(); }

}  // namespace lockstep
