#include "tests/support/step_feeds.h"

#include "models/models.h"
#include "runtime/philox.h"

namespace lockstep::testing {

StepFeeds::StepFeeds(const TrainingModel& model, int64_t batch, int64_t classes, const Dims& image,
                     const ProcessShare& process)
    : images_(batch * element_count(image)), labels_(batch), classes_(classes) {
  const int64_t rows = batch / process.processes / model.replicas;
  const int64_t first = batch / process.processes * process.rank;
  Dims of_share{rows};
  for (int64_t size : image) of_share.push_back(size);
  for (const Replicated& input : model.inputs)
    for (int64_t k = 0; k < model.replicas; ++k) {
      Tensor& feed = feeds_.emplace_back();
      feed.desc.dtype = input.name == "label" ? DType::int64 : DType::float32;
      if (input.name == "lr") {
        feed.desc.dims.assign(1, 1);
        feed.data = &rate_;
      } else if (input.name == "label") {
        feed.desc.dims.assign(1, rows);
        feed.data = labels_.data() + first + k * rows;
      } else {
        feed.desc.dims = of_share;
        feed.data = images_.data() + (first + k * rows) * element_count(image);
      }
    }
}

std::span<const Tensor> StepFeeds::at(int64_t step, float rate) {
  PhiloxSequence random(17, static_cast<uint64_t>(step));
  for (int64_t& label : labels_) label = random.below(classes_);
  const int64_t pixels = static_cast<int64_t>(images_.size() / labels_.size());
  for (std::size_t i = 0; i < images_.size(); ++i)
    images_[i] = static_cast<float>(random.uniform(-1, 1)) +
                 0.3F * static_cast<float>(labels_[i / pixels] * static_cast<int64_t>(i % 5) % 7);
  rate_ = rate;
  return feeds_;
}

TrainingModel small_mlp(int replicas, const MomentumSgd& optimizer, DataParallelOptions options) {
  options.replicas = replicas;
  options.scope = "cpu";
  return build_data_parallel_model(
      all_ops(), mlp({.image = {1, 6, 6}, .classes = 5, .hidden = {16, 12}}), optimizer, options);
}

TrainingModel small_lenet(int replicas) {
  return build_data_parallel_model(all_ops(), lenet(), {}, {.replicas = replicas, .scope = "cpu"});
}

StateValues train(const TrainingModel& model, int64_t batch, int64_t steps, const Dims& image,
                  int threads) {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {5, threads, {}});
  session.initialise();
  StepFeeds feeds(model, batch, image == Dims{1, 28, 28} ? 10 : 5, image);
  for (int64_t step = 0; step < steps; ++step) {
    session.step().run(feeds.at(step, 0.05F), session.run_options(step));
    if (std::string drift = find_drift(model, session.state()); !drift.empty())
      fail("after step ", step, ": ", drift);
  }
  return session.save();
}

}  // namespace lockstep::testing
