// SPDX-License-Identifier: Apache-2.0
// The subject of an error: the parts of the text set it, and wrapping the text preserves it.
#include "lockstep/error.h"

#include <gtest/gtest.h>

#include <exception>
#include <new>

#include "lockstep/graph.h"
#include "lockstep/operators.h"

namespace lockstep::testing {
namespace {

using Keys = std::vector<std::string>;

template <class Kind, class Act>
Kind thrown_by(const Act& act) {
  try {
    act();
  } catch (const Kind& error) {
    return error;
  }
  throw std::logic_error("nothing of this kind was thrown");
}
template <class Act>
Error error_of(const Act& act) {
  return thrown_by<Error>(act);
}

TEST(ErrorSubject, IsSaidByThePartsOfTheText) {
  const Error error = error_of([] {
    check(false, ErrorPlace{"x.yaml:3"}, ": ", Key{"THREADS"}, " ", 2.5, " for each of ",
          Key{"DEVICES"}, " ", 7, " in ", NodeName{"conv1"});
  });
  EXPECT_STREQ(error.what(), "x.yaml:3: THREADS 2.5 for each of DEVICES 7 in conv1");
  EXPECT_EQ(error.subject().keys, (Keys{"THREADS", "DEVICES"}));
  EXPECT_EQ(error.subject().node, "conv1");
  EXPECT_EQ(error.subject().place, "x.yaml:3");
  EXPECT_EQ(join(Key{"THREADS"}, " is ", 3), "THREADS is 3");
  EXPECT_EQ(join(Key{"THREADS"}, " is ", 3.5), "THREADS is 3.5");
}

TEST(ErrorSubject, IsEmptyWhereNoPartSaysIt) {
  const Error error = error_of([] { fail("THREADS is ", 5); });
  EXPECT_TRUE(error.subject().keys.empty());
  EXPECT_EQ(error.subject().node, "");
  EXPECT_EQ(error.subject().place, "");
}

TEST(ErrorSubject, OfAPhraseIsThatOfItsParts) {
  const Phrase of_all = phrase(2, " replicas of ", Key{"DEVICES"}, " cpu*2");
  const Error error = error_of([&] { fail(Key{"BATCH"}, " is too small for the ", of_all); });
  EXPECT_STREQ(error.what(), "BATCH is too small for the 2 replicas of DEVICES cpu*2");
  EXPECT_EQ(error.subject().keys, (Keys{"BATCH", "DEVICES"}));
}

TEST(ErrorSubject, OutlivesAnnotationsAndCopies) {
  const Error error = error_of([] {
    try {
      try {
        fail(Key{"GAMMA"}, " in ", NodeName{"inner"});
      } catch (const Error& first) {
        fail(Key{"POLICY"}, " in ", NodeName{"outer"}, ": ", first);
      }
    } catch (const Error& second) {
      fail(ErrorPlace{"x.yaml:1"}, ": ", second);
    }
  });
  EXPECT_STREQ(error.what(), "x.yaml:1: POLICY in outer: GAMMA in inner");
  EXPECT_EQ(error.subject().keys, (Keys{"POLICY", "GAMMA"}));
  EXPECT_EQ(error.subject().node, "outer") << "the first subject of the text";
  EXPECT_EQ(error.subject().place, "x.yaml:1");
  // As when an exception passes between threads.
  const std::exception_ptr carried = std::make_exception_ptr(error);
  const Error arrived = error_of([&] { std::rethrow_exception(carried); });
  EXPECT_EQ(arrived.subject().keys, (Keys{"POLICY", "GAMMA"}));
}

TEST(ErrorSubject, AndKindOutliveAnotherText) {
  const auto unsupported = thrown_by<Unsupported>([] {
    try {
      supported(false, NodeName{"roi"}, " has no kernel");
    } catch (const Error& error) {
      rethrow_as(error, ErrorPlace{"a.onnx"}, ": ", error.what());
    }
  });
  EXPECT_STREQ(unsupported.what(), "a.onnx: roi has no kernel");
  EXPECT_EQ(unsupported.subject().node, "roi");
  EXPECT_EQ(unsupported.subject().place, "a.onnx");
  // An exception of another library has no subject.
  const Error other = error_of([] { rethrow_as(std::bad_alloc(), NodeName{"roi"}, " is large"); });
  EXPECT_EQ(other.subject().node, "roi");
}

TEST(ErrorSubject, IsTheNodeThatAGraphRefuses) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {2, 3}});
  const Error refused = error_of([&] { gemm(graph, x, x, none, {}, "product"); });
  EXPECT_EQ(refused.subject().node, "product");
  EXPECT_EQ(std::string(refused.what()).rfind("product (Gemm", 0), 0u) << refused.what();
  relu(graph, x, "act");
  const Node act = graph.node(0);
  const Error named = error_of([&] { check(false, act, ": is too much"); });
  EXPECT_EQ(named.what(), act.description() + ": is too much");
  EXPECT_EQ(named.subject().node, "act");
  AttributeReader reader = act.attributes();
  reader.integer("axis", 0);
  EXPECT_EQ(error_of([&] { reader.integer("axis", 0); }).subject().node, "act");
}

}  // namespace
}  // namespace lockstep::testing
