// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/all_reduce.h"
#include "builders/all_reduce/packing.h"
#include "builders/all_reduce/spec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {
namespace {

const std::vector<GradientSize>& gradients() {
  static const std::vector<GradientSize> all{{"conv/kernel", 1000, DType::float32},
                                             {"conv/bias", 10, DType::float32},
                                             {"half", 500, DType::float16},
                                             {"fc", 100000, DType::float32}};
  return all;
}

void read_all_reduce(const std::string& text) {
  const AllReduceSpec spec = parse_all_reduce(text);
  expect(parse_all_reduce(text_of(spec)) == spec);
  for (int64_t elements : {int64_t{0}, int64_t{1}, int64_t{40000}, int64_t{1} << 40})
    expect(range_for(spec, elements, 4) < spec.ranges.size());
  for (int replicas : {1, 4, 6}) accepts([&] { check_fits({.spec = spec}, replicas); });
}

void read_buckets(const std::string& text) {
  const Buckets buckets = parse_buckets(text, gradients());
  expect(parse_buckets(text_of(buckets, gradients()), gradients()) == buckets);
}

void read_topology(const std::string& text) {
  const Topology links = parse_topology(text);
  const std::string shown = text_of(links);
  const Topology again = shown.empty() ? Topology{} : parse_topology(shown);
  for (auto link : {&Topology::within, &Topology::across})
    for (auto number : {&Link::latency, &Link::bandwidth})
      expect(again.*link.*number == links.*link.*number);
}

}  // namespace

void read_specification(const std::string& text) {
  accepts([&] { read_all_reduce(text); });
  accepts([&] { read_buckets(text); });
  accepts([&] {
    const Packing packing = parse_packing(text);
    expect(parse_packing(text_of(packing)) == packing);
    pack(packing, gradients());
  });
  accepts([&] { read_topology(text); });
  accepts([&] {
    check_fits({.spec = parse_all_reduce("xring"), .ring_order = parse_ring_order(text)}, 4);
  });
}

Seeds specification_seeds() {
  return {"collective",
          "mean:xring#2",
          "pscpu:32k:xring#2",
          "sum:nccl/xring:1MB:rechd",
          "collective#2:64k:pscpu/pscpu#3",
          "psgpu#4:4k:bcube:2M:muji",
          "auto",
          "trivial:10:simple:20:hierarchical_copy",
          "none",
          "tf_cnn:4k:10",
          "ray:10M",
          "ready:1M:25M",
          "2us:10G/30us:1.2G",
          "5us:1G",
          "0,2,1,3",
          text_of(Buckets{{3}, {0, 1}, {2}}, gradients())};
}

}  // namespace lockstep::fuzz
