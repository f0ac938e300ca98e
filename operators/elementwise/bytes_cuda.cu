// SPDX-License-Identifier: Apache-2.0
#include "operators/elementwise/bytes.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/elements_cuda.h"

namespace lockstep {
namespace {

constexpr int kBytes = 256;     // values of a byte: the length of a table's row
constexpr int kNeighbours = 8;  // bytes that a thread reads at once
constexpr int kColours = 3;     // channels of images that are stored channels-last
constexpr int kMostTables = 4;  // rows that fit in a block's shared memory
constexpr int kPictures = 4;    // dimensions

// y has the order of x. The kernel only moves table entries: T is an unsigned integer of the
// entries' size.
template <class T>
struct SamePlaces {
  using Entry = T;
  const uint8_t* x;
  T* y;
  uint32_t packs_of_plane, tables;
  __device__ void operator()(const T* table, uint32_t pack) const {
    const T* const of = table + pack / packs_of_plane % tables * kBytes;
    const auto bytes = load<uint8_t, kNeighbours>(x + int64_t{pack} * kNeighbours);
    constexpr int kOfStore = kPack<T>;
#pragma unroll
    for (int first = 0; first < kNeighbours; first += kOfStore) {
      Pack<T, kOfStore> values;
      for (int e = 0; e < kOfStore; ++e) values.at[e] = of[bytes.at[first + e]];
      store<T, kOfStore>(y + int64_t{pack} * kNeighbours + first, values);
    }
  }
};

// Planes of three colours become pixels, channels-last.
template <class T>
struct ColoursInnermost {
  using Entry = T;
  const uint8_t* x;
  T* y;
  uint32_t packs_of_plane, tables;
  __device__ void operator()(const T* table, uint32_t pack) const {
    const uint32_t image = pack / packs_of_plane;
    const int64_t from = int64_t{image} * (kColours - 1) * packs_of_plane + pack;
    Pack<uint8_t, kNeighbours> bytes[kColours];
#pragma unroll
    for (int c = 0; c < kColours; ++c)
      bytes[c] = load<uint8_t, kNeighbours>(x + (from + int64_t{c} * packs_of_plane) * kNeighbours);
    const uint32_t next = tables > 1 ? kBytes : 0;
    constexpr int kOfStore = kPack<T>, kValues = kNeighbours * kColours;
    T* const to = y + int64_t{pack} * kValues;
#pragma unroll
    for (int first = 0; first < kValues; first += kOfStore) {
      Pack<T, kOfStore> values;
#pragma unroll
      for (int e = 0; e < kOfStore; ++e) {
        const int c = (first + e) % kColours;
        values.at[e] = table[static_cast<uint32_t>(c) * next + bytes[c].at[(first + e) / kColours]];
      }
      store<T, kOfStore>(to + first, values);
    }
  }
};

template <class Body>
__global__ void __launch_bounds__(kBlock)
    run_packs(uint32_t packs, const typename Body::Entry* table, Body body) {
  __shared__ typename Body::Entry here[kMostTables * kBytes];
  for (uint32_t i = threadIdx.x; i < body.tables * kBytes; i += kBlock) here[i] = table[i];
  __syncthreads();
  for (uint32_t pack = blockIdx.x * kBlock + threadIdx.x; pack < packs; pack += gridDim.x * kBlock)
    body(here, pack);
}

// Element by element, for any number of channels and any plane size.
template <class T>
struct ByElement {
  const uint8_t* x;
  const T* table;
  T* y;
  int64_t plane, channels, tables;
  bool innermost;
  __device__ void operator()(int64_t i) const {
    const int64_t place = innermost ? i / channels % plane : i % plane;
    const int64_t channel = innermost ? i % channels : i / plane % channels;
    const int64_t image = i / (channels * plane);
    const int64_t from = (image * channels + channel) * plane + place;
    y[i] = table[(tables > 1 ? channel : 0) * kBytes + x[from]];
  }
};

template <class Body>
std::unique_ptr<Kernel> packs_kernel(const KernelRequest& request, int64_t count, int64_t plane) {
  using T = typename Body::Entry;
  const auto packs = static_cast<uint32_t>(count);
  const int64_t held = blocks_held(request.device, run_packs<Body>, kBlock);
  const auto blocks = static_cast<unsigned>(std::min<int64_t>((count + kBlock - 1) / kBlock, held));
  return make_kernel(
      [=, of_plane = static_cast<uint32_t>(plane / kNeighbours),
       tables = static_cast<uint32_t>(request.in[1].dims[0])](const KernelArgs& args) {
        launch_blocks(run_packs<Body>, blocks, kBlock, stream_of(args), packs,
                      args.in[1].as<const T>(),
                      Body{args.in[0].as<const uint8_t>(), args.out[0].as<T>(), of_plane, tables});
      },
      std::is_same_v<Body, ColoursInnermost<T>> ? "packs of pixels, colours innermost" : "packs");
}

template <class T>
std::unique_ptr<Kernel> prepare_table(const KernelRequest& request) {
  const TensorDesc &x = request.in[0], &y = request.out[0];
  const int64_t channels = x.dims[1], tables = request.in[1].dims[0];
  const int64_t plane = x.count() == 0 ? 1 : x.count() / (x.dims[0] * channels);
  const bool innermost = y.layout.is_channels_last();
  const bool packs =
      x.count() > 0 && x.count() <= UINT32_MAX && plane % kNeighbours == 0 && tables <= kMostTables;
  if (packs && !innermost)
    return packs_kernel<SamePlaces<T>>(request, x.count() / kNeighbours, plane);
  if (packs && channels == kColours)
    return packs_kernel<ColoursInnermost<T>>(request, x.count() / kColours / kNeighbours, plane);
  return make_kernel(
      [=, count = x.count()](const KernelArgs& args) {
        for_elements(args, count,
                     ByElement<T>{args.in[0].as<const uint8_t>(), args.in[1].as<const T>(),
                                  args.out[0].as<T>(), plane, channels, tables, innermost});
      },
      innermost ? "channels innermost" : "");
}

// Convolutions on tensor cores read channels-last tensors.
Layouts table_layouts(const KernelRequest& request) {
  Layouts layouts = row_major(request);
  const Graph& graph = request.node.graph();
  const Value y = request.node.outputs()[0];
  const bool convolved = std::ranges::any_of(graph.consumers(y), [&](int reader) {
    return graph.node(reader).type().find("Conv") != std::string::npos;
  });
  const TensorDesc& to = request.out[0];
  const bool wide = to.dtype == DType::float32 && !request.tf32;
  if (convolved && !wide && to.dims.size() == kPictures && to.count() > 0)
    layouts.out[0] = Layout::channels_last(to.dims[1]);
  return layouts;
}

}  // namespace

KernelEntry byte_table_cuda() {
  const auto prepare = [](const KernelRequest& request) {
    return size_of(request.out[0].dtype) == 2 ? prepare_table<uint16_t>(request)
                                              : prepare_table<uint32_t>(request);
  };
  return {
      "ByteTable",
      kOwnDomain,
      {{"GPU", every({takes<Types<uint8_t>>(), makes<TensorFloats>()}), prepare, table_layouts}}};
}

}  // namespace lockstep
