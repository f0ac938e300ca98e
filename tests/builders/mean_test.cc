// `mean:` before a spec: the result is divided by the number of replicas, and the losses are not.
#include <gtest/gtest.h>

#include "builders/all_reduce/all_reduce.h"
#include "operators/all.h"
#include "operators/elementwise/elementwise.h"
#include "runtime/compile.h"
#include "runtime/executor.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// However a tensor is packed, cut and rounded on its way, it is divided once.
TEST(Mean, OfABucketIsThatOfItsTensors) {
  for (const char* spec : {"mean:collective", "mean:xring", "mean:psgpu#2", "mean:trivial"})
    for (const AllReduceOptions& how :
         {AllReduceOptions{}, AllReduceOptions{.packing = parse_packing("ready:1k:1M")},
          AllReduceOptions{.packing = parse_packing("ready:1k:1M"), .pieces = 3},
          AllReduceOptions{.wire = "float16"}}) {
      SCOPED_TRACE(spec);
      Graph graph(all_ops());
      AllReducer::PerParam gradients(2);
      std::vector<std::string> feeds, fetches;
      for (int k = 0; k < 4; ++k) {
        ReplicaScope replica(graph, k);
        for (std::size_t p = 0; p < 2; ++p) {
          feeds.push_back(join("x", k, p));
          Value x = graph.input(feeds.back(), {DType::float32, {2, 3}});
          gradients[p].push_back(neg(graph, x, join("g", k, p)));
        }
      }
      AllReduceOptions options = how;
      options.spec = parse_all_reduce(spec);
      const auto means = AllReducer(options, 4).sum_all(graph, gradients, {"a", "b"});
      for (int k = 0; k < 4; ++k)
        for (std::size_t p = 0; p < 2; ++p)
          fetches.push_back(graph.name(means[p][static_cast<std::size_t>(k)]));
      // Replica k has k + 1, and ten times that: whole numbers, so every sum is exact.
      std::vector<std::vector<float>> fed;
      std::vector<Tensor> tensors;
      for (int k = 0; k < 4; ++k)
        for (int p = 0; p < 2; ++p)
          fed.emplace_back(6, static_cast<float>(-(k + 1) * (p ? 10 : 1)));
      for (auto& values : fed) tensors.push_back({{DType::float32, {2, 3}}, values.data()});
      StateStore none({}, {});
      Workers workers(4, 1);
      auto executor = make_executor(compile({graph,
                                             feeds,
                                             std::vector<Dims>(8, Dims{2, 3}),
                                             fetches,
                                             {},
                                             {},
                                             cpu_devices(4),
                                             all_kernels(),
                                             {}}),
                                    none, workers);
      executor->run(tensors, {});
      std::size_t next = 0;
      for (const Tensor& tensor : executor->fetches()) {
        const int k = static_cast<int>(next / 2), p = static_cast<int>(next % 2);
        ++next;
        const bool own = std::string(spec) == "mean:trivial";
        const float expected = (own ? static_cast<float>(k + 1) / 4 : 2.5F) * (p ? 10.F : 1.F);
        for (int i = 0; i < 6; ++i) ASSERT_EQ(tensor.as<float>()[i], expected) << k << " " << p;
      }
    }
}

}  // namespace
}  // namespace lockstep::testing
