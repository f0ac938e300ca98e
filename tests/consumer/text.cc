// SPDX-License-Identifier: Apache-2.0
// A language model of characters on any text file, by two replicas, in C++: trains, scores the
// held-out text and writes some. docs/text.md does the same from a YAML file.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include <lockstep/data_parallel.h>
#include <lockstep/layers.h>
#include <lockstep/loader.h>
#include <lockstep/losses.h>
#include <lockstep/operators.h>
#include <lockstep/optimizers.h>
#include <lockstep/random.h>
#include <lockstep/session.h>
#include <lockstep/text.h>

using namespace lockstep;

constexpr int64_t kRows = 16, kLength = 64, kHidden = 96;  // of a step; units of the LSTM

// Rows of characters in, the next characters out. Training takes labels and rows of kLength, from
// states of zero. Prediction takes one row of any length, continues from fed states and returns the
// last ones, so that text can be written character by character.
ModelFn network(int64_t characters) {
  return [characters](Net& net) {
    Graph& graph = net.graph;
    const bool training = net.training();
    const Dim rows = training ? Dim("N") : Dim(1), length = training ? Dim(kLength) : Dim("T");
    Value x = net.input("data", {DType::int64, {rows, length}});
    x = embedding_layer(net, x, characters, 32, {}, "embedding");
    RecurrentLayer lstm{.batch_first = true};
    if (!training) {
      lstm.first_h = {net.input("h", {DType::float32, {1, 1, kHidden}})};
      lstm.first_c = {net.input("c", {DType::float32, {1, 1, kHidden}})};
    }
    const RecurrentOutputs states = lstm_layer(net, x, kHidden, lstm, "lstm");
    const Value places = reshape(graph, states.y, {-1, kHidden}, "places");
    const Value scores = fc_layer(net, places, characters, {}, "pred");
    if (training) {
      const Value label = net.input("label", {DType::int64, {"N", kLength}});
      return predict_places(net, scores, reshape(graph, label, {-1}, "next"));
    }
    net.output("prob", softmax(graph, scores, -1, "prob"));
    net.output("h_last", states.last_h[0]);
    net.output("c_last", states.last_c[0]);
  };
}

// Reads characters and remembers what its network needs of them.
class Reader {
 public:
  explicit Reader(Session& session) : session_(session) {}

  void forget() { h_.assign(kHidden, 0), c_.assign(kHidden, 0); }
  // The probabilities after each of them.
  std::vector<float> read(std::vector<int64_t> characters) {
    const TensorDesc state{DType::float32, {1, 1, kHidden}};
    const auto count = static_cast<int64_t>(characters.size());
    const Tensor feeds[] = {
        {{DType::int64, {1, count}}, characters.data()}, {state, h_.data()}, {state, c_.data()}};
    const auto results = session_.inference().run(feeds, session_.run_options(0));
    std::copy_n(results[1].as<float>(), kHidden, h_.begin());
    std::copy_n(results[2].as<float>(), kHidden, c_.begin());
    return {results[0].as<float>(), results[0].as<float>() + results[0].count()};
  }

 private:
  Session& session_;
  std::vector<float> h_, c_;
};

double bits_per_character(Reader& reader, const std::vector<uint8_t>& text,
                          const std::vector<ScoredRow>& rows, int64_t characters) {
  double bits = 0, count = 0;
  for (const ScoredRow& row : rows) {
    reader.forget();
    const auto first = text.begin() + row.first;
    const std::vector<float> prob = reader.read({first, first + row.end});
    for (int64_t i = row.from; i < row.end; ++i, ++count)
      bits -= std::log2(prob[i * characters + first[i + 1]]);
  }
  return bits / count;
}

std::string written(Reader& reader, const Vocabulary& vocabulary, int length) {
  PhiloxSequence random(1, 0);
  std::string text = "\n";
  reader.forget();
  while (static_cast<int>(text.size()) <= length) {
    const std::vector<float> prob = reader.read({vocabulary.id(text.back())});
    double left = random.uniform();
    std::size_t next = 0;
    while (next + 1 < prob.size() && (left -= prob[next]) > 0) ++next;
    text += vocabulary.byte(static_cast<int64_t>(next));
  }
  return text;
}

int main(int argc, char** argv) try {
  check(argc == 3, "usage: text FILE STEPS");
  const JoinedText file(std::vector<std::string>{argv[1]});
  const Vocabulary vocabulary(file.bytes() + "\n");
  const std::vector<uint8_t> text = vocabulary.encode(file);
  const TextSplit split = split_text(file.size());  // every tenth 1,000 characters is held out
  const TextBatches batches(text, split.training, {.batch = kRows, .length = kLength});
  Loader loader(batches, 1);

  const auto devices = parse_devices("cpu*2");
  DataParallelOptions options = replicas_on(devices);
  options.rules.weight_decay = 0;
  options.clip.norm = 1;
  const TrainingModel model =
      build_data_parallel_model(all_ops(), network(vocabulary.size()), Adam{}, options);
  Session session(model, devices, all_kernels(), {.seed = 7});
  session.initialise();

  Feeds feeds(model);
  const int steps = std::stoi(argv[2]);
  for (int step = 0; step < steps; ++step) {
    const auto rows = loader.get(step);
    feeds.set("data", rows[0]);
    feeds.set("label", rows[1]);
    feeds.set(Role::rate, 0.005F * static_cast<float>(steps - step) / static_cast<float>(steps));
    const float loss = session.run_step(feeds, step).loss();
    if (step % 50 == 0) std::cout << "step " << step << ", bits " << loss / std::log(2.0F) << "\n";
  }
  Reader reader(session);
  const auto rows = scored_rows(split.held_out, kLength);
  std::cout << "held out: " << bits_per_character(reader, text, rows, vocabulary.size())
            << " bits per character\n"
            << written(reader, vocabulary, 300) << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
