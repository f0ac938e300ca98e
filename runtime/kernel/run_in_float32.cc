// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel/run_in_float32.h"

#include <algorithm>
#include <deque>

#include "lockstep/types.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;
constexpr std::size_t kLine = 64;

bool any_narrow(const KernelRequest& request) {
  return std::ranges::any_of(request.in, is_narrow, &TensorDesc::dtype) ||
         std::ranges::any_of(request.out, is_narrow, &TensorDesc::dtype);
}

template <class From, class To>
void convert(const void* from, void* to, int64_t count, int threads) {
  const auto* x = static_cast<const From*>(from);
  auto* y = static_cast<To*>(to);
  parallel_for(count, kGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = To(x[i]);
  });
}

void widen(DType type, const void* from, void* to, int64_t count, int threads) {
  with_narrow(type, [&]<class From>() { convert<From, float>(from, to, count, threads); });
}

void narrow(DType type, const void* from, void* to, int64_t count, int threads) {
  with_narrow(type, [&]<class To>() { convert<float, To>(from, to, count, threads); });
}

// Returns the request in float32, except the contents of its constants.
KernelRequest described_wide(const KernelRequest& request) {
  KernelRequest wide = request;
  for (std::vector<TensorDesc>* descs : {&wide.in, &wide.out})
    for (TensorDesc& desc : *descs)
      if (is_narrow(desc.dtype)) desc.dtype = DType::float32;
  return wide;
}

// Returns the request in float32; `literals` owns the widened constants.
KernelRequest wide(const KernelRequest& request, std::deque<Literal>& literals) {
  KernelRequest wide = described_wide(request);
  for (std::size_t i = 0; i < wide.constants.size(); ++i) {
    if (!wide.constants[i] || !is_narrow(request.in[i].dtype)) continue;
    const Literal& from = *request.constants[i];
    std::vector<float> values(element_count(from.dims()));
    widen(from.dtype(), from.bytes().data(), values.data(), element_count(from.dims()), 1);
    wide.constants[i] = &literals.emplace_back(Literal::of<float>(values, from.dims()));
  }
  return wide;
}

class WideKernel final : public Kernel {
 public:
  WideKernel(const KernelFactory& factory, const KernelRequest& request)
      : threads_(request.threads) {
    std::deque<Literal> literals;
    kernel_ = factory(wide(request, literals));
    own_bytes_ = (kernel_->workspace_bytes() + kLine - 1) / kLine * kLine;
    std::size_t at = own_bytes_;
    for (auto [descs, places] : {std::pair{&request.in, &in_}, std::pair{&request.out, &out_}})
      for (const TensorDesc& desc : *descs) {
        places->push_back(is_narrow(desc.dtype) ? at : kSame);
        if (!is_narrow(desc.dtype)) continue;
        at += (desc.places() * sizeof(float) + kLine - 1) / kLine * kLine;
      }
    bytes_ = at;
    inputs_.resize(in_.size());
    outputs_.resize(out_.size());
  }

  void run(const KernelArgs& args) override {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      place(inputs_[i], args.in[i], in_[i], args.workspace);
      if (in_[i] != kSame && args.in[i].data)
        widen(args.in[i].desc.dtype, args.in[i].data, inputs_[i].data, args.in[i].desc.places(),
              threads_);
    }
    for (std::size_t i = 0; i < out_.size(); ++i)
      place(outputs_[i], args.out[i], out_[i], args.workspace);
    KernelArgs wide{inputs_, outputs_, args.workspace, args.context};
    kernel_->run(wide);
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (out_[i] != kSame && args.out[i].data)
        narrow(args.out[i].desc.dtype, outputs_[i].data, args.out[i].data,
               args.out[i].desc.places(), threads_);
  }
  std::size_t workspace_bytes() const override { return bytes_; }
  std::size_t reordered_bytes() const override { return kernel_->reordered_bytes(); }
  std::string describe() const override {
    const std::string how = kernel_->describe();
    return how.empty() ? "in float32" : how + ", in float32";
  }

 private:
  static constexpr std::size_t kSame = SIZE_MAX;  // not 16 bits: uses the operand directly

  // `there` has the same dimensions in every run, so only the first run allocates.
  static void place(Tensor& there, const Tensor& tensor, std::size_t at, std::byte* workspace) {
    there = tensor;
    if (at == kSame) return;
    there.desc.dtype = DType::float32;
    if (tensor.data) there.data = workspace + at;
  }

  std::unique_ptr<Kernel> kernel_;
  int threads_;
  std::size_t own_bytes_ = 0, bytes_ = 0;
  std::vector<std::size_t> in_, out_;  // offset in the workspace of each widened operand and result
  std::vector<Tensor> inputs_, outputs_;
};

// Refusals do not read 16-bit constants, so constants are not widened for them.
Refusal refused_in_float32(const Candidate& candidate) {
  return [refuses = candidate.refuses](const KernelRequest& request) -> std::string {
    if (!any_narrow(request)) return "is for 16-bit floats";
    return refuses ? refuses(described_wide(request)) : "";
  };
}

// Layouts do not depend on types, and conversions not on layouts.
LayoutPreference wished_in_float32(const Candidate& candidate) {
  if (!candidate.wish) return nullptr;
  return [wish = candidate.wish](const KernelRequest& request) {
    return wish(described_wide(request));
  };
}

}  // namespace

KernelEntry with_float32(KernelEntry entry) {
  const std::vector<Candidate> own = entry.candidates;
  for (const Candidate& candidate : own)
    entry.candidates.push_back({candidate.name + " in float32", refused_in_float32(candidate),
                                [prepare = candidate.prepare](const KernelRequest& request) {
                                  return std::make_unique<WideKernel>(prepare, request);
                                },
                                wished_in_float32(candidate)});
  return entry;
}

}  // namespace lockstep
