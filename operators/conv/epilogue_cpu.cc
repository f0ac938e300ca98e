// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/epilogue_cpu.h"

#include "operators/conv/conv.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/simd/widest.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr int64_t kGrain = 16384;

template <class T>
class WithEpilogue final : public Kernel {
 public:
  WithEpilogue(std::unique_ptr<Kernel> convolution, const KernelRequest& request)
      : convolution_(std::move(convolution)),
        does_(read_epilogue(request)),
        y_(request.out[ConvOut::y]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    convolution_->run(args);
    T* const y = args.out[ConvOut::y].as<T>();
    const T* const z = does_.addition ? args.in[ConvIn::z].as<const T>() : nullptr;
    if (z && does_.relu)
      finish([=](int64_t i) { y[i] = masked(T(y[i] + z[i])); });
    else if (z)
      finish([=](int64_t i) { y[i] = T(y[i] + z[i]); });
    else if (does_.relu)
      finish([=](int64_t i) { y[i] = masked(y[i]); });
    if (does_.statistics)
      add_up(y, args.out[ConvOut::sums].as<float>(), args.out[ConvOut::squares].as<float>());
  }
  std::size_t workspace_bytes() const override { return convolution_->workspace_bytes(); }
  std::size_t reordered_bytes() const override { return convolution_->reordered_bytes(); }
  std::string describe() const override {
    ConvEpilogue after = does_;
    after.bias = false;  // the convolution adds the bias
    return convolution_->describe() + text_of(after);
  }

 private:
  static T masked(T x) { return x < 0 ? T() : x; }  // NaN stays NaN

  // Makes one pass over the result.
  template <class Change>
  void finish(const Change& change) const {
    parallel_for(y_.places(), kGrain, threads_, [&](int64_t begin, int64_t end) {
      widest_for<T>([=] {
        for (int64_t i = begin; i < end; ++i) change(i);
      });
    });
  }

  // y has the layout [images, blocks, plane, block].
  void add_up(const T* y, float* sums, float* squares) const {
    const int64_t channels = y_.dims[1], block = y_.block();
    const int64_t blocks = (channels + block - 1) / block;
    const int64_t plane = y_.count() / std::max<int64_t>(1, y_.dims[0] * channels);
    parallel_for(channels, kGrain / std::max<int64_t>(1, y_.dims[0] * plane) + 1, threads_,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t c = begin; c < end; ++c) {
                     double sum = 0, square = 0;
                     for (int64_t n = 0; n < y_.dims[0]; ++n)
                       for (int64_t p = 0; p < plane; ++p) {
                         const int64_t at =
                             ((n * blocks + c / block) * plane + p) * block + c % block;
                         sum += y[at];
                         square += static_cast<double>(y[at]) * y[at];
                       }
                     sums[c] = static_cast<float>(sum);
                     squares[c] = static_cast<float>(square);
                   }
                 });
  }

  std::unique_ptr<Kernel> convolution_;
  ConvEpilogue does_;
  TensorDesc y_;
  int threads_;
};

// The convolution writes to the workspace, since the result may alias z.
template <class T>
class WithAddition final : public Kernel {
 public:
  WithAddition(std::unique_ptr<Kernel> convolution, const KernelRequest& request)
      : convolution_(std::move(convolution)),
        dx_(request.out[0]),
        own_bytes_((convolution_->workspace_bytes() + kAlignment - 1) / kAlignment * kAlignment),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    Tensor apart = args.out[0];
    apart.data = args.workspace + own_bytes_;
    KernelArgs convolves = args;
    convolves.in = args.in.first(ConvGradXIn::z);
    convolves.out = {&apart, 1};
    convolution_->run(convolves);
    const T* const gradient = apart.as<const T>();
    const T* const z = args.in[ConvGradXIn::z].as<const T>();
    T* const dx = args.out[0].as<T>();
    parallel_for(dx_.places(), kGrain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dx[i] = T(gradient[i] + z[i]);
    });
  }
  std::size_t workspace_bytes() const override { return own_bytes_ + dx_.bytes(); }
  std::size_t reordered_bytes() const override { return convolution_->reordered_bytes(); }
  std::string describe() const override { return convolution_->describe() + ", addition"; }

 private:
  static constexpr std::size_t kAlignment = 64;

  std::unique_ptr<Kernel> convolution_;
  TensorDesc dx_;
  std::size_t own_bytes_;
  int threads_;
};

}  // namespace

std::unique_ptr<Kernel> with_addition(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request) {
  return dispatch<Types<float, BFloat16>>(
      request.out[0].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
        return std::make_unique<WithAddition<T>>(std::move(convolution), request);
      });
}

std::unique_ptr<Kernel> with_epilogue(std::unique_ptr<Kernel> convolution,
                                      const KernelRequest& request) {
  return dispatch<Types<float, BFloat16>>(
      request.out[ConvOut::y].dtype, [&]<class T>() -> std::unique_ptr<Kernel> {
        return std::make_unique<WithEpilogue<T>>(std::move(convolution), request);
      });
}

}  // namespace lockstep
