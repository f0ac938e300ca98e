// SPDX-License-Identifier: Apache-2.0
// Gradients of embeddings, summed over replicas by the rows that a step reads. They equal whole
// gradients, and to the bit if the terms are added in the same order.
#include "builders/step/embeddings.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/print.h"
#include "graph/summary.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "lockstep/session.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kRows = 12, kTokens = 3, kWords = 40, kWidth = 4, kSteps = 4;

// The scores of several words at a time.
Value scores_of(Net& net, Value read) {
  return fc_layer(net, flatten(net.graph, read, 1, "flat"), 5, {}, "pred");
}
Value sentences(Net& net, DType type = DType::int64) {
  return net.input("data", {type, {"N", kTokens}});
}
void plain(Net& net) {
  classify(net, scores_of(net, embedding_layer(net, sentences(net), kWords, kWidth, {}, "words")));
}
void of_int32(Net& net) {
  const Value data = cast(net.graph, sentences(net), DType::int32, "whole");
  classify(net, scores_of(net, embedding_layer(net, data, kWords, kWidth, {}, "words")));
}
// Examples without a label do not count.
void masked(Net& net) {
  const Value read = embedding_layer(net, sentences(net), kWords, kWidth, {}, "words");
  predict_places(net, scores_of(net, read), net.input("label", {DType::int64, {"N"}}));
}
Value table_of_words(Net& net) { return net.param("words_w", {kWords, kWidth}, gaussian(0.5F)); }
void read_twice(Net& net) {
  const Value table = table_of_words(net), data = sentences(net);
  const Value first = gather(net.graph, table, data, 0, "first");
  const Value again = gather(net.graph, table, data, 0, "again");
  classify(net, scores_of(net, add(net.graph, first, again, "both")));
}
void tied(Net& net) {
  const Value table = table_of_words(net);
  classify(net, scores_of(net, gather(net.graph, table, sentences(net), 0, "read")));
  if (!net.training()) return;
  const Value square = mul(net.graph, table, table, "square");
  net.loss("penalty", reduce_mean(net.graph, square, {}, false, "penalty"));
}
// The operand is a sum, and other parameters share its gradient.
void read_sum(Net& net, const Dims& more) {
  const Value table =
      add(net.graph, table_of_words(net), net.param("more", more, gaussian(0.5F)), "sum");
  classify(net, scores_of(net, gather(net.graph, table, sentences(net), 0, "read")));
}
void with_offset(Net& net) { read_sum(net, {kWidth}); }
void of_two_tables(Net& net) { read_sum(net, {kWords, kWidth}); }
void along_another_axis(Net& net) {
  const Value table = net.param("words_w", {kWidth, kWords}, gaussian(0.5F));
  const Value read = gather(net.graph, table, sentences(net), 1, "read");
  classify(net, scores_of(net, transpose(net.graph, read, {1, 2, 0}, "turned")));
}

// The words and labels of a run.
struct Text {
  std::vector<int64_t> words, labels;

  // Frequent words, and words from the end of the table with negative indices. Label -1: none.
  static Text any(bool is_masked) {
    Text text;
    PhiloxSequence random(3, 8);
    for (int64_t i = 0; i < kSteps * kRows * kTokens; ++i)
      text.words.push_back(i % 3 == 0 ? random.below(3) : random.below(2 * kWords) - kWords);
    for (int64_t i = 0; i < kSteps * kRows; ++i)
      text.labels.push_back(is_masked && random.below(3) == 0 ? -1 : random.below(5));
    return text;
  }
  // All replicas read the same words, each once.
  static Text once(int replicas) {
    Text text = any(false);
    for (std::size_t i = 0; i < text.words.size(); ++i)
      text.words[i] = static_cast<int64_t>(i) % (kRows / replicas * kTokens);
    return text;
  }
};

TrainingModel built(const ModelFn& network, DataParallelOptions options, EmbeddingSum sum) {
  options.scope = "cpu";
  options.embeddings = sum;
  return build_data_parallel_model(all_ops(), network, MomentumSgd{.momentum = 0.9F}, options);
}

struct Where {
  Comm* comm = nullptr;
  bool on_queues = false;
};

StateValues trained(const TrainingModel& model, Text text, const Where& where = {}) {
  const auto devices = where.on_queues ? gpu_devices(model.replicas) : cpu_devices(model.replicas);
  Session session(model, devices, where.on_queues ? queued_kernels() : all_kernels(),
                  {5, 1, {}, where.comm});
  session.initialise();
  const int64_t all = std::max(model.whole_replicas, model.replicas);
  const int64_t first = kRows * model.first_replica / all;
  const int64_t rows = kRows * (model.first_replica + model.replicas) / all - first;
  Feeds feeds(model, {where.comm ? kRows : 0});
  feeds.set(Role::rate, 0.5F);
  for (int64_t step = 0; step < kSteps; ++step) {
    const int64_t from = step * kRows + first;
    feeds.set("data", {{DType::int64, {rows, kTokens}}, text.words.data() + from * kTokens});
    feeds.set("label", {{DType::int64, {rows}}, text.labels.data() + from});
    session.run_step(feeds, static_cast<uint64_t>(step));
  }
  return session.save();
}

void expect_near(const StateValues& found, const StateValues& expected, float tolerance) {
  for (const auto& [name, value] : expected) {
    const auto mine = found.at(name).values<float>(), theirs = value.values<float>();
    for (std::size_t i = 0; i < mine.size(); ++i)
      ASSERT_NEAR(mine[i], theirs[i], tolerance) << name << " " << i;
  }
}

std::string choice_of(const TrainingModel& model, const std::string& param = "words_w") {
  return model.metadata.at("embedding " + param);
}
int count_of(const TrainingModel& model, const std::string& type) {
  int count = 0;
  for (int i = 0; i < model.step.node_count(); ++i) count += model.step.node(i).type() == type;
  return count;
}

struct Trial {
  const char* name;
  ModelFn network = plain;
  DataParallelOptions options = {};
  float tolerance = 1e-6F;
};

std::vector<Trial> trials() {
  const auto reduced = [](const char* spec) {
    return DataParallelOptions{.all_reduce = {.spec = parse_all_reduce(spec)}};
  };
  return {{"plain"},
          {"int32", of_int32},
          {"micro-batches", plain, {.micro_batches = 2}},
          {"masked", masked},
          {"masked micro-batches", masked, {.micro_batches = 2}},
          {"bfloat16", plain, {.precision = DType::bfloat16}, 2e-3F},
          {"clipped", plain, {.clip = {.norm = 0.1F}}},
          {"each clipped", plain, {.clip = {.each_norm = 0.05F}}},
          {"packed", plain, {.all_reduce = {.packing = parse_packing("ready:64:1k")}}},
          {"in pieces", plain, {.all_reduce = {.pieces = 3}}},
          {"rings", plain, reduced("xring")},
          {"means", plain, reduced("mean:collective")},
          {"narrow wire", plain, {.all_reduce = {.wire = DType::bfloat16}}, 1e-2F}};
}

TEST(Embeddings, ByRowsEqualWholeGradients) {
  for (Trial trial : trials())
    for (int replicas : {2, 3}) {
      SCOPED_TRACE(join(trial.name, " on ", replicas));
      trial.options.replicas = replicas;
      const Text text = Text::any(std::string(trial.name).starts_with("masked"));
      const TrainingModel whole = built(trial.network, trial.options, EmbeddingSum::dense);
      const TrainingModel rows = built(trial.network, trial.options, EmbeddingSum::sparse);
      verify(rows);
      EXPECT_EQ(count_of(whole, "AllGather"), 0);
      EXPECT_EQ(count_of(rows, "AllGather"), 2);
      EXPECT_EQ(count_of(rows, "GatherGrad"), replicas) << "only the gradient of the sum";
      const StateValues found = trained(rows, text);
      expect_near(found, trained(whole, text), trial.tolerance);
      EXPECT_TRUE(found == trained(rows, text)) << "two runs give different bits";
      EXPECT_TRUE(found == trained(rows, text, {nullptr, true})) << "on devices with queues";
    }
}

// A replica's own rows are rounded, too, so all replicas add the same values.
TEST(Embeddings, ByRowsGoOverTheWireInItsType) {
  for (const DType wire : {DType::bfloat16, DType::float16})
    for (const bool means : {false, true}) {
      DataParallelOptions options{.replicas = 2, .all_reduce = {.wire = wire}};
      if (means) options.all_reduce.spec = parse_all_reduce("mean:collective");
      const TrainingModel model = built(plain, options, EmbeddingSum::sparse);
      std::vector<DType> sent;  // apart from the indices of rows
      for (int i = 0; i < model.step.node_count(); ++i) {
        const Node node = model.step.node(i);
        if (node.type() != "AllGather") continue;
        for (const Value operand : node.inputs())
          if (const DType type = model.step.dtype(operand); type != DType::int64)
            sent.push_back(type);
      }
      EXPECT_EQ(sent, (std::vector<DType>{wire, wire}));
    }
}

// With one replica nothing is summed and no algorithm is chosen.
TEST(Embeddings, OfOneReplicaAreNotSummed) {
  const TrainingModel rows = built(plain, {}, EmbeddingSum::sparse);
  EXPECT_EQ(text_of(rows.step), text_of(built(plain, {}, EmbeddingSum::dense).step));
  EXPECT_TRUE(rows.metadata.empty());
}

// If no replica reads a word twice, both ways add terms in the order of replicas.
TEST(Embeddings, ByRowsHaveTheSameBitsWhereTheOrderIsTheSame) {
  for (int replicas : {2, 3})
    for (const ModelFn& network : {ModelFn(plain), ModelFn(of_int32)}) {
      SCOPED_TRACE(replicas);
      const Text text = Text::once(replicas);
      EXPECT_TRUE(trained(built(network, {.replicas = replicas}, EmbeddingSum::sparse), text) ==
                  trained(built(network, {.replicas = replicas}, EmbeddingSum::dense), text));
    }
}

// Rows are joined in the order of replicas for any distribution over processes, so all bits are
// equal.
TEST(Embeddings, OverProcessesHaveTheSameBits) {
  for (int parts : {1, 2})
    for (int replicas : {2, 3, 4}) {
      SCOPED_TRACE(join(replicas, " replicas, micro-batches ", parts));
      DataParallelOptions options{.replicas = replicas, .micro_batches = parts};
      options.all_reduce.spec = parse_all_reduce("xring");
      if (kRows % (replicas * parts) != 0) continue;
      const TrainingModel whole = built(plain, options, EmbeddingSum::sparse);
      const Text text = Text::any(false);
      const StateValues expected = trained(whole, text);
      for (bool on_queues : {false, true})
        run_ranks(2, [&](Comm& comm) {
          const TrainingModel part = partition(whole, {comm.rank(), comm.size()});
          for (const auto& [name, value] : trained(part, text, {&comm, on_queues}))
            EXPECT_TRUE(value == expected.at(name)) << name << " on rank " << comm.rank();
        });
    }
}

// 2 replicas. Each receives 160 floats of the table in halves, twice, or the other's rows of 4
// floats with an int64 each.
TEST(Embeddings, AreSummedByWhatMovesFewerBytes) {
  const auto choice = [](int64_t share, DataParallelOptions options = {.replicas = 2}) {
    options.share = share;
    return choice_of(built(plain, options, EmbeddingSum::automatic));
  };
  EXPECT_EQ(choice(4), "by rows; bytes to a replica: 288 by rows, 640 as a whole");
  EXPECT_EQ(choice(8), "by rows; bytes to a replica: 576 by rows, 640 as a whole");
  EXPECT_EQ(choice(9), "as a whole; bytes to a replica: 648 by rows, 640 as a whole");
  EXPECT_EQ(choice(4, {.replicas = 3}), "by rows; bytes to a replica: 576 by rows, 853 as a whole");
  EXPECT_EQ(choice(4, {.replicas = 2, .micro_batches = 2}),
            "by rows; bytes to a replica: 288 by rows, 640 as a whole");
  EXPECT_EQ(choice(4, {.replicas = 2, .all_reduce = {.wire = DType::float16}}),
            "by rows; bytes to a replica: 192 by rows, 320 as a whole");
  EXPECT_EQ(choice(0),
            "as a whole: a replica's share is not known; bytes to a replica: an unknown "
            "number by rows, 640 as a whole");
  EXPECT_EQ(choice_of(built(plain, {.replicas = 2}, EmbeddingSum::sparse)),
            "by rows: as asked for; bytes to a replica: an unknown number by rows, 640 as a whole");
}

// A resident batch declares its minibatches.
TEST(Embeddings, OfResidentBatchesKnowTheirRows) {
  DataParallelOptions options{.replicas = 2};
  options.resident = {{"data", "label"}, {}, {4, 100, 1}};
  EXPECT_EQ(choice_of(built(plain, options, EmbeddingSum::automatic)),
            "by rows; bytes to a replica: 288 by rows, 640 as a whole");
}

// A gradient that cannot be summed by rows is summed as a whole, even against the option.
TEST(Embeddings, AreSummedAsAWholeForAReason) {
  const auto refused = [](const ModelFn& network, DataParallelOptions options, const char* why) {
    options.replicas = 2;
    options.share = 2;
    const TrainingModel model = built(network, options, EmbeddingSum::sparse);
    EXPECT_EQ(count_of(model, "AllGather"), 0);
    EXPECT_NE(choice_of(model).find(join("as a whole: ", why, "; bytes to a replica: ")),
              std::string::npos)
        << choice_of(model);
  };
  refused(read_twice, {}, "2 operators read the table");
  refused(read_twice, {.micro_batches = 2}, "2 operators read the table");
  refused(tied, {}, "other operators than Gather read the table, too");
  for (int parts : {1, 2})
    refused(with_offset, {.micro_batches = parts}, "Gather reads a sum of it and others");
  refused(along_another_axis, {}, "it is read along axis 1");
  refused(plain, {.weighted = true}, "replicas' shares of the batch may differ");
  refused(plain, {.deferred = true}, "it is kept until the next step");
  refused(plain, {.skip_non_finite = true}, "each replica's own is checked before the sum");
  refused(plain, {.precision = DType::float16}, "each replica's own is checked before the sum");
  refused(plain, {.clip = {.norm = 1, .before_reduce = true}},
          "each replica's own is clipped before the sum");
  refused(plain, {.all_reduce = {.spec = parse_all_reduce("trivial")}}, "trivial does not sum");
  refused(plain, {.all_reduce = {.buckets = "bucket 1 bytes: words_w pred_w pred_b\n"}},
          "the bucket plan lists it");
  EXPECT_TRUE(choice_of(built(plain, {.replicas = 2, .share = 2}, EmbeddingSum::dense))
                  .starts_with("as a whole: as asked for; bytes to a replica: 144 by rows, 640"));
}

// 2^60 paths lead through these sums.
TEST(Embeddings, AreFoundBehindManySums) {
  const auto doubled = [](Net& net) {
    Value offset = net.param("offset", {kWidth}, gaussian(0.5F));
    for (int i = 0; i < 60; ++i) offset = add(net.graph, offset, offset, join("sum_", i));
    const Value read = gather(net.graph, table_of_words(net), sentences(net), 0, "read");
    classify(net, scores_of(net, add(net.graph, read, offset, "moved")));
  };
  EXPECT_EQ(count_of(built(doubled, {.replicas = 2}, EmbeddingSum::sparse), "AllGather"), 2);
}

// Training is the same as without the option.
TEST(Embeddings, OfTablesReadTwiceTrainAsBefore) {
  const Text text = Text::any(false);
  for (const ModelFn& network :
       {ModelFn(read_twice), ModelFn(tied), ModelFn(with_offset), ModelFn(of_two_tables)})
    EXPECT_TRUE(trained(built(network, {.replicas = 2}, EmbeddingSum::sparse), text) ==
                trained(built(network, {.replicas = 2}, EmbeddingSum::dense), text));
}

// Buckets contain the other gradients, and a plan of the buckets is read back.
TEST(Embeddings, ByRowsAreInNoBucket) {
  DataParallelOptions options{.replicas = 2};
  options.all_reduce.packing = parse_packing("ready:64:1k");
  const TrainingModel model = built(plain, options, EmbeddingSum::sparse);
  EXPECT_EQ(model.bucket_plan.find("words_w"), std::string::npos) << model.bucket_plan;
  EXPECT_NE(model.bucket_plan.find("pred_w"), std::string::npos);
  options.all_reduce.packing = {};
  options.all_reduce.buckets = model.bucket_plan;
  EXPECT_EQ(text_of(built(plain, options, EmbeddingSum::sparse).step), text_of(model.step));
}

// Graph, summary and plan give the reason. A step may have another number of rows than expected.
TEST(Embeddings, SayWhy) {
  const TrainingModel model = built(plain, {.replicas = 2, .share = 4}, EmbeddingSum::automatic);
  const std::string why = "by rows; bytes to a replica: 288 by rows, 640 as a whole";
  EXPECT_NE(text_of(model.step).find(why), std::string::npos);
  EXPECT_NE(summary_of(model).find("embedding words_w  " + why), std::string::npos);
  const auto dims = [](const std::string& feed) {
    if (feed.ends_with("data")) return Dims{6, kTokens};
    return feed.ends_with("label") ? Dims{6} : Dims{1};
  };
  const Plan plan = compile(step_request(model, dims, cpu_devices(2), all_kernels(), {}));
  EXPECT_NE(text_of(plan).find("shared memory; " + why), std::string::npos);
  const Text text = Text::any(false);
  expect_near(trained(model, text),
              trained(built(plain, {.replicas = 2}, EmbeddingSum::dense), text), 1e-6F);
}

TEST(Embeddings, HaveAWordForEachWay) {
  for (EmbeddingSum sum : {EmbeddingSum::automatic, EmbeddingSum::dense, EmbeddingSum::sparse})
    EXPECT_EQ(parse_embedding_sum(text_of(sum)), sum);
  expect_error([] { parse_embedding_sum("rows"); },
               "summed 'auto', 'dense' or 'sparse', not 'rows'");
  expect_error([] { built(plain, {.share = -1}, EmbeddingSum::automatic); },
               "should be 0 or more rows, not -1");
}

}  // namespace
}  // namespace lockstep::testing
