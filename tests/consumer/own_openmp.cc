// SPDX-License-Identifier: Apache-2.0
// A program with OpenMP loops of its own that trains beside them: the loops get the threads that
// the program asked for, before, during and after training, and libgomp is the one that runs them.
#include <dlfcn.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <lockstep/data_parallel.h>
#include <lockstep/layers.h>
#include <lockstep/losses.h>
#include <lockstep/operators.h>
#include <lockstep/optimizers.h>
#include <lockstep/session.h>

using namespace lockstep;

constexpr int kThreads = 3;

// The sum of 0 .. count - 1, or -1 if the loop did not get its threads.
int64_t sum_to(int64_t count) {
  int64_t sum = 0;
  int threads = 0;
#pragma omp parallel reduction(+ : sum)
  {
#pragma omp single
    threads = omp_get_num_threads();
#pragma omp for
    for (int64_t i = 0; i < count; ++i) sum += i;
  }
  return threads == kThreads && omp_get_max_threads() == kThreads ? sum : -1;
}

// The number of cores that each thread of a region may run on, summed up.
int cores_of_threads() {
  int cores = 0;
#pragma omp parallel reduction(+ : cores)
  {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) cores += CPU_COUNT(&allowed);
  }
  return cores;
}

// Convolutions and products call oneDNN, whose parallel regions are OpenMP's.
float trained_loss(int replicas) {
  const auto network = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 16, 12, 12}});
    x = relu(net.graph, conv_layer(net, x, 32, {.kernel = 3, .pad = 1}, "conv1"), "relu1");
    classify(net, fc_layer(net, x, 4, {}, "pred"));
  };
  const std::vector<Device> devices = cpu_devices(replicas);
  const TrainingModel model =
      build_data_parallel_model(all_ops(), network, MomentumSgd{}, replicas_on(devices));
  Session session(model, devices, all_kernels(), {.seed = 3, .threads = 2});
  session.initialise();
  std::vector<float> images(8 * 16 * 12 * 12);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 17) / 17;
  std::vector<int64_t> labels{0, 1, 2, 3, 0, 1, 2, 3};
  Feeds feeds(model);
  feeds.set("data", {{DType::float32, {8, 16, 12, 12}}, images.data()});
  feeds.set("label", {{DType::int64, {8}}, labels.data()});
  feeds.set(Role::rate, 0.01F);
  float loss = 0;
  for (int step = 0; step < 20; ++step) loss = session.run_step(feeds, step).loss();
  return loss;
}

int failed(const char* what) {
  std::cerr << "own_openmp: " << what << "\n";
  return 1;
}

// With any argument it only trains, with the settings of the environment.
int main(int argc, char**) try {
  if (argc > 1) return trained_loss(1) > 0 ? 0 : 1;
  constexpr int64_t kCount = 100000, kSum = kCount * (kCount - 1) / 2;
  omp_set_num_threads(kThreads);
  omp_set_dynamic(0);  // for the loops of this thread; the session's threads follow OMP_DYNAMIC
  Dl_info owner{};
  void* const region = dlsym(RTLD_DEFAULT, "GOMP_parallel");
  if (!region || !dladdr(region, &owner) ||
      std::string(owner.dli_fname).find("libgomp") == std::string::npos)
    return failed("another library than libgomp runs parallel regions");

  const int cores = cores_of_threads();
  if (sum_to(kCount) != kSum) return failed("a loop before training");
  const float alone = trained_loss(2), of_one = trained_loss(1);
  if (sum_to(kCount) != kSum) return failed("a loop after training in the same thread");
  if (cores_of_threads() != cores) return failed("threads of loops are bound to cores");

  std::atomic<bool> done{false};
  float beside = 0;
  std::thread training([&] {
    beside = trained_loss(2);
    done = true;
  });
  int64_t wrong = 0, loops = 0;
  for (; !done || loops < 10; ++loops) wrong += sum_to(kCount) != kSum;
  training.join();
  if (wrong > 0) return failed("a loop during training");
  if (beside != alone) return failed("training beside the loops has other bits");

  // Within a region, where a session of one replica would otherwise get one thread, and with other
  // settings of the calling thread.
  std::atomic<int> other_bits{0};
#pragma omp parallel
  if (trained_loss(1) != of_one) ++other_bits;
  if (other_bits > 0) return failed("training within a region has other bits");
  omp_set_dynamic(1);
  omp_set_max_active_levels(0);
  if (trained_loss(1) != of_one) return failed("training without active levels has other bits");
  if (!omp_get_dynamic() || omp_get_max_active_levels() != 0)
    return failed("training changed the settings of its thread");
  std::cout << loops << " loops beside 20 steps, loss " << alone << "\n";
  return 0;
} catch (const Error& error) {
  std::cerr << "own_openmp: " << error.what() << "\n";
  return 2;
}
