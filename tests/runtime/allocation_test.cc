// SPDX-License-Identifier: Apache-2.0
// A step makes no heap allocation after the first step. Counting versions replace every allocation
// function of the process. oneDNN's allocations inside its calls (it copies the argument list of a
// primitive into a map) are counted separately, by the address of the caller.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <new>

#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/resident.h"
#include "tests/support/step_feeds.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
};
Range outside[16];  // code of oneDNN and its OpenMP runtime
int outside_count = 0;
std::atomic<bool> counting{false};
std::atomic<int64_t> ours{0};
std::atomic<int64_t> of_libraries{0};

void note(void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  auto address = reinterpret_cast<uintptr_t>(caller);
  for (int i = 0; i < outside_count; ++i)
    if (address >= outside[i].begin && address < outside[i].end) {
      ++of_libraries;
      return;
    }
  ++ours;
}

void find_outside() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    bool library = line.find("libdnnl") != line.npos || line.find("libgomp") != line.npos;
    if (!library || outside_count == 16) continue;
    char* rest = nullptr;
    outside[outside_count].begin = std::strtoull(line.c_str(), &rest, 16);
    outside[outside_count++].end = std::strtoull(rest + 1, nullptr, 16);
  }
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  note(__builtin_return_address(0));
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : 12;
}
}
void* operator new(std::size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}
void operator delete(void* data) noexcept { __libc_free(data); }
void operator delete(void* data, std::size_t) noexcept { __libc_free(data); }

namespace lockstep::testing {
namespace {

void expect_no_allocation(const TrainingModel& model, int64_t batch, int64_t classes,
                          const Dims& image, int threads) {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {1, threads, {}});
  session.initialise();
  StepFeeds feeds(model, batch, classes, image);
  session.step().run(feeds.at(0, 0.1F), session.run_options(0));
  find_outside();
  ASSERT_GT(outside_count, 0) << "libdnnl is not mapped";
  ours = of_libraries = 0;
  counting = true;
  for (int64_t step = 1; step <= 20; ++step)
    session.step().run(feeds.at(step, 0.1F), session.run_options(step));
  counting = false;
  EXPECT_EQ(ours, 0) << "allocations of Lockstep in 20 steps";
  ::testing::Test::RecordProperty("allocations_inside_onednn",
                                  static_cast<int>(of_libraries.load()));
}

TEST(Allocation, TheCounterCounts) {
  counting = true;
  ours = 0;
  std::free(std::malloc(10));
  delete new int;
  counting = false;
  EXPECT_GE(ours, 1);
}

TEST(Allocation, CountingElementsMakesNone) {
  const Dims dims{1000, 2000, 3000, 4000, 5000};
  ours = 0;
  counting = true;
  const int64_t count = element_count(dims);
  counting = false;
  EXPECT_EQ(count, 120'000'000'000'000'000);
  EXPECT_EQ(ours, 0) << "texts of errors that did not occur";
}

TEST(Allocation, AStepOfLenetMakesNone) {
  expect_no_allocation(small_lenet(1), 8, 10, {1, 28, 28}, 1);
  expect_no_allocation(small_lenet(2), 8, 10, {1, 28, 28}, 1);
  expect_no_allocation(small_lenet(1), 8, 10, {1, 28, 28}, 2);
}

TEST(Allocation, AStepOfAnMlpMakesNone) {
  expect_no_allocation(small_mlp(1), 8, 5, {1, 6, 6}, 1);
  expect_no_allocation(small_mlp(4), 8, 5, {1, 6, 6}, 1);
  expect_no_allocation(small_of_side(6, {.replicas = 2}), 8, 5, {1, 6, 6}, 1);
  expect_no_allocation(small_of_side(6, {.precision = DType::bfloat16}), 8, 5, {1, 6, 6}, 1);
}

// Slices move over a batch, and the arenas of other plans move.
TEST(Allocation, ASweepOverAResidentBatchMakesNone) {
  DataParallelOptions options{.replicas = 2, .scope = "cpu"};
  options.resident = {{"data", "label"}, {}, {4, 32, 1}};
  const TrainingModel model = build_data_parallel_model(
      all_ops(), mlp({.image = {1, 8, 8}, .classes = 5, .hidden = {16}}), MomentumSgd{}, options);
  Session session(model, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  ResidentBatch resident(session);
  resident.feeds().set(Role::rate, 0.1F);
  for (int64_t rows : {32, 6, 32}) {
    const Literal data(DType::float32, {rows, 1, 8, 8}), label(DType::int64, {rows});
    static_cast<void>(resident.load({{"data", view_of(data)}, {"label", view_of(label)}}));
    resident.optimize(0, 0);
  }
  find_outside();
  ours = of_libraries = 0;
  counting = true;
  for (uint64_t step = 1; step <= 12; ++step)
    session.step().run(resident.feeds().tensors(), session.run_options(step));
  counting = false;
  EXPECT_EQ(ours, 0) << "allocations of Lockstep in 12 steps";
}

// Sizes in an order in which arenas grow and move, then the order again.
TEST(Allocation, StepsOfSeveralImageSizesMakeNone) {
  std::vector<TrainingModel> models;
  for (int64_t side : {6, 9, 12}) models.push_back(small_of_side(side, {.replicas = 2}));
  Session session(models[0], cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  std::vector<std::unique_ptr<Program>> steps;
  std::vector<std::unique_ptr<StepFeeds>> feeds;
  for (const TrainingModel& model : models) {
    steps.push_back(session.step_of(model));
    const int64_t side = 6 + 3 * static_cast<int64_t>(feeds.size());
    feeds.push_back(std::make_unique<StepFeeds>(model, 8, 5, Dims{1, side, side}));
    steps.back()->run(feeds.back()->at(0, 0.1F), session.run_options(0));
  }
  find_outside();
  ours = of_libraries = 0;
  counting = true;
  for (int64_t step = 1; step <= 12; ++step)
    steps[step % 3]->run(feeds[step % 3]->at(step, 0.1F),
                         session.run_options(static_cast<uint64_t>(step)));
  counting = false;
  EXPECT_EQ(ours, 0) << "allocations of Lockstep in 12 steps";
}

}  // namespace
}  // namespace lockstep::testing
