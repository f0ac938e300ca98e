// SPDX-License-Identifier: Apache-2.0
// Options of the sums of gradients over replicas: the algorithm, the buckets, the links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "lockstep/types.h"

namespace lockstep {

// The specification of gradient sums over replicas, as text:
//   spec  := [ "sum:" | "mean:" ] range ( ":" limit ":" range )*
//   range := name [ "#" shards ]
//   limit := digits [ K | k | M | G | T ] [ "B" ]
// `pscpu:32k:xring#2` sums tensors of up to 32768 elements by pscpu, larger tensors by rings.
// A limit counts elements, or bytes with a B; K is 1024. Limits increase, and the last range has
// none. The size is the size of the reduced tensor: a bucket, after packing. In a name of two
// levels, such as pscpu/pscpu#2, the shards belong to the second level. With `mean:` every replica
// divides the sum by the number of replicas. `lockstep build --help` lists the algorithms; `auto`
// chooses the algorithm with the least predicted time.
struct AllReduceRange {
  std::string algorithm;
  int64_t shards = 1;  // 0: as many as the algorithm uses if none are given
  int64_t limit = -1;  // applies up to this many elements or bytes; -1: no limit
  bool limit_in_bytes = false;
  friend bool operator==(const AllReduceRange&, const AllReduceRange&) = default;
};
struct AllReduceSpec {
  std::vector<AllReduceRange> ranges;
  Reduction reduction = Reduction::sum;
  friend bool operator==(const AllReduceSpec&, const AllReduceSpec&) = default;
};

// Throws an Error naming the spec and its wrong part.
AllReduceSpec parse_all_reduce(const std::string& text);
// The text that parse_all_reduce() reads.
std::string text_of(const AllReduceSpec& spec);
std::string text_of(const AllReduceRange& range);  // without its limit

// Buckets: gradients that are reduced together.
//   packing := "none" | "tf_cnn:" bytes ":" group | "ray:" bytes | "ready:" first ":" cap
// Numbers are written as in a spec (4k, 25M). Rules see gradients in the order of their parameters:
//   tf_cnn  runs of up to `group` + 2 neighbours of at most `bytes` bytes each (tf_cnn_benchmarks)
//   ray     from the last to the first; a bin closes once it is larger than `bytes` bytes (Ray)
//   ready   in the order of the backward pass, the last parameter's gradient first: a small first
//           bucket, so that communication starts early, then buckets of `cap` bytes
enum class PackingRule { none, tf_cnn, ray, ready };

struct Packing {
  PackingRule rule = PackingRule::none;
  int64_t bytes = 0;  // tf_cnn: limit of a small tensor; ray: of a bin; ready: of a bucket
  int64_t group = 0;  // tf_cnn: limits the tensors of a bucket; 0: nothing is packed
  int64_t first = 0;  // ready: bytes of the first bucket
  friend bool operator==(const Packing&, const Packing&) = default;
};
// Throws an Error naming the text and its wrong part.
Packing parse_packing(const std::string& text);
// The text that parse_packing() reads: "ready:1M:25M".
std::string text_of(const Packing& packing);

// The links between replicas, for the cost model and the algorithm `auto`.
struct Link {
  double latency = 0;    // seconds
  double bandwidth = 1;  // bytes per second
};
struct Topology {
  Link within{2e-6, 10e9};    // between replicas of one process
  Link across{30e-6, 1.2e9};  // between processes
  double adding = 20e9;       // bytes per second that one replica sums
};

// Parses "2us:10G/30us:1.2G": latency (ns, us or ms) and bandwidth (bytes per second; K, M and G
// are powers of 1000) within a process and, after the /, between processes. Without a / both links
// are equal. Throws an Error naming the text and its wrong part.
Topology parse_topology(const std::string& text);
// The text that parse_topology() reads back exactly; "" for the default.
std::string text_of(const Topology& topology);

struct AllReduceOptions {
  AllReduceSpec spec = {.ranges = {{"collective"}}};
  Packing packing = {};
  // A bucket plan as text (TrainingModel::bucket_plan), instead of a packing; "": none.
  std::string buckets = "";
  std::string buckets_from = "buckets";  // the source of `buckets`, such as a file, for errors
  int pieces = 1;                        // of each bucket; pieces are summed separately
  // The number of consecutive buckets whose nodes are named under one scope, allreduce_0,
  // allreduce_1, .., which viewers fold. 1: no scope.
  int merge_scope = 1;
  // The element type of gradients in transit, float16 or bfloat16. Gradients are summed in float32,
  // and the sums are rounded to this type. undefined: unchanged.
  DType wire = DType::undefined;
  Topology topology = {};  // for `auto`
  int processes = 1;       // each has the same number of replicas, in order
  // Devices of each process that hold no replica. They sum in algorithms that have gatherers.
  int auxiliaries = 0;
  // xring: the replicas of a process, from 0, in ring order; empty: 0, 1, ..
  std::vector<int> ring_order = {};
};

}  // namespace lockstep
