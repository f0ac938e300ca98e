// SPDX-License-Identifier: Apache-2.0
// A program to inspect with gdb. check_printers.py compares the output of tools/gdb/lockstep.py for
// each value with the library's text for the same value. Compiled without optimisation.
#include <cstdint>
#include <cstring>
#include <iostream>
#include <vector>

#include "lockstep/op.h"
#include "lockstep/tensor.h"

using namespace lockstep;

namespace {

std::string text_of(Value value) { return value ? join("value ", value.id) : "none"; }

// A breakpoint at a function that is never inlined works with every compiler's line table.
[[gnu::noinline]] void look_here() { asm volatile(""); }

void expect(const char* expression, const std::string& text) {
  std::cout << expression << " = " << text << "\n";
}

// The texts of the arguments are printed first: gdb reads the arguments in this frame and all other
// values in main's.
void pass(const Dims& by_reference, const TensorDesc& desc_by_reference) {
  std::cout << std::flush;
  (void)by_reference;
  (void)desc_by_reference;
  look_here();
}

}  // namespace

int main() {
  const Dims matrix = {2, 3};
  const TensorDesc blocks = {DType::bfloat16, {8, 20, 7, 7}, Layout::blocks(16)};
  expect("by_reference", text_of(matrix));
  expect("desc_by_reference", text_of(blocks));

  const Value seventh{7};
  const Value absent = none;
  expect("seventh", text_of(seventh));
  expect("absent", text_of(absent));

  const Dims scalar;
  expect("matrix", text_of(matrix));
  expect("scalar", text_of(scalar));

  // Uninitialised bytes without a constructed object.
  alignas(Dims) unsigned char bytes[sizeof(Dims)];
  const std::uintptr_t pointers[3] = {8, 8000008, 0};
  static_assert(sizeof pointers == sizeof bytes);
  std::memcpy(bytes, pointers, sizeof bytes);
  expect("*(lockstep::Dims*)bytes", "[not constructed: 1000000 dimensions]");

  const TensorDesc omitted;
  const TensorDesc row_major = {DType::float32, {8, 3, 224, 224}};
  const TensorDesc mask = {DType::boolean, {5}};
  const TensorDesc last = {DType::float16, {8, 20, 7, 7}, Layout::channels_last(20)};
  expect("omitted", text_of(omitted));
  expect("row_major", text_of(row_major));
  expect("row_major.dims", text_of(row_major.dims));
  expect("mask", text_of(mask));
  expect("blocks", text_of(blocks));
  expect("last", text_of(last));

  // Every layout of a filter.
  std::vector<TensorDesc> filters;
  for (Pairs pairs : {Pairs::none, Pairs::flat, Pairs::deep})
    for (Turned turned : {Turned::no, Turned::each, Turned::all})
      filters.push_back({DType::float32, {32, 16, 3, 3}, Layout::in({16, turned, pairs})});
  for (std::size_t i = 0; i < filters.size(); ++i)
    expect(("*(filters._M_impl._M_start + " + std::to_string(i) + ")").c_str(),
           text_of(filters[i]));
  pass(matrix, blocks);
}
