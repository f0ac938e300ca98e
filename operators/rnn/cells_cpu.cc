// SPDX-License-Identifier: Apache-2.0
// Vectors are cut into pieces so that the gates fit into registers and the fast cache. Each loop
// over a piece is plain arithmetic, which compilers vectorise.
#include "operators/rnn/cells_cpu.h"

#include <algorithm>

#include "operators/rnn/activations_cpu.h"

namespace lockstep {
namespace {

constexpr int64_t kPiece = 64;
using Piece = float[kPiece];

// Calls visit(first, count) for each piece.
template <class Visit>
void for_pieces(int64_t hidden, const Visit& visit) {
  for (int64_t first = 0; first < hidden; first += kPiece)
    visit(first, std::min(kPiece, hidden - first));
}

}  // namespace

void CellMath::rnn(const float* sums, float* h) const { activate(f_g_h[0], sums, h, hidden); }

void CellMath::rnn_back(const float* sums, const float* dh, float* dsums) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    Piece h;
    activate(f_g_h[0], sums + first, h, dsums + first, count);
    for (int64_t k = first; k < first + count; ++k) dsums[k] *= dh[k];
  });
}

void CellMath::lstm(const float* peepholes, float* sums, const float* c_before, float* c,
                    float* h) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    float *si = sums + first, *so = si + hidden, *sf = so + hidden, *sg = sf + hidden;
    const float* before = c_before + first;
    float *c_now = c + first, *h_now = h + first;
    const float* p = peepholes ? peepholes + first : nullptr;
    Piece i, o, f, g;
    for (int64_t k = 0; p && k < count; ++k) {
      si[k] += p[k] * before[k];
      sf[k] += p[2 * hidden + k] * before[k];
    }
    activate(f_g_h[0], si, i, count);
    activate(f_g_h[0], sf, f, count);
    activate(f_g_h[1], sg, g, count);
    for (int64_t k = 0; input_forget && k < count; ++k) f[k] = 1 - i[k];
    for (int64_t k = 0; k < count; ++k) c_now[k] = f[k] * before[k] + i[k] * g[k];
    for (int64_t k = 0; p && k < count; ++k) so[k] += p[hidden + k] * c_now[k];
    activate(f_g_h[0], so, o, count);
    activate(f_g_h[2], c_now, g, count);
    for (int64_t k = 0; k < count; ++k) h_now[k] = o[k] * g[k];
  });
}

void CellMath::lstm_back(const float* peepholes, const float* sums, const float* c_before,
                         const float* c, const float* dh, float* dc, float* dsums) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    const float *si = sums + first, *so = si + hidden, *sf = so + hidden, *sg = sf + hidden;
    float *di = dsums + first, *d_o = di + hidden, *df = d_o + hidden, *dg = df + hidden;
    const float *before = c_before + first, *now = c + first, *dy = dh + first;
    float* dc_now = dc + first;
    const float* p = peepholes ? peepholes + first : nullptr;
    Piece i, o, f, g, of_c, of_i, of_o, of_f, of_g, slope;  // gates, and their slopes
    activate(f_g_h[0], si, i, of_i, count);
    activate(f_g_h[0], so, o, of_o, count);
    activate(f_g_h[0], sf, f, of_f, count);
    activate(f_g_h[1], sg, g, of_g, count);
    activate(f_g_h[2], now, of_c, slope, count);
    for (int64_t k = 0; input_forget && k < count; ++k) f[k] = 1 - i[k];

    for (int64_t k = 0; k < count; ++k) d_o[k] = dy[k] * of_c[k] * of_o[k];
    for (int64_t k = 0; k < count; ++k) dc_now[k] += dy[k] * o[k] * slope[k];
    for (int64_t k = 0; p && k < count; ++k) dc_now[k] += d_o[k] * p[hidden + k];

    const float forgets = input_forget ? 0.0F : 1.0F;
    for (int64_t k = 0; k < count; ++k) df[k] = forgets * dc_now[k] * before[k] * of_f[k];
    for (int64_t k = 0; k < count; ++k)
      di[k] = dc_now[k] * (g[k] - (1 - forgets) * before[k]) * of_i[k];
    for (int64_t k = 0; k < count; ++k) dg[k] = dc_now[k] * i[k] * of_g[k];
    for (int64_t k = 0; k < count; ++k) dc_now[k] *= f[k];
    for (int64_t k = 0; p && k < count; ++k) dc_now[k] += di[k] * p[k] + df[k] * p[2 * hidden + k];
  });
}

void CellMath::gru_reset(const float* sums, const float* h_before, float* scaled) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    Piece r;
    activate(f_g_h[0], sums + hidden + first, r, count);
    for (int64_t k = 0; k < count; ++k) scaled[first + k] = r[k] * h_before[first + k];
  });
}

void CellMath::gru(const float* product, float* sums, const float* h_before, float* h) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    float *sz = sums + first, *sr = sz + hidden, *sg = sr + hidden;
    const float* before = h_before + first;
    float* now = h + first;
    Piece z, g;
    if (product) {
      activate(f_g_h[0], sr, z, count);
      for (int64_t k = 0; k < count; ++k) sg[k] += z[k] * product[first + k];
    }
    activate(f_g_h[0], sz, z, count);
    activate(f_g_h[1], sg, g, count);
    for (int64_t k = 0; k < count; ++k) now[k] = (1 - z[k]) * g[k] + z[k] * before[k];
  });
}

void CellMath::gru_back(const float* product, const float* sums, const float* h_before,
                        const float* dh, float* dh_before, float* dproduct, float* dsums) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    const float *sz = sums + first, *sr = sz + hidden, *sg = sr + hidden;
    float *dz = dsums + first, *dr = dz + hidden, *dg = dr + hidden;
    const float *before = h_before + first, *dy = dh + first;
    float* d_before = dh_before + first;
    Piece z, g, of_z, of_g;  // gates, and their slopes
    activate(f_g_h[0], sz, z, of_z, count);
    activate(f_g_h[1], sg, g, of_g, count);
    for (int64_t k = 0; k < count; ++k) dz[k] = dy[k] * (before[k] - g[k]) * of_z[k];
    for (int64_t k = 0; k < count; ++k) dg[k] = dy[k] * (1 - z[k]) * of_g[k];
    for (int64_t k = 0; k < count; ++k) d_before[k] = dy[k] * z[k];
    if (!product) return;
    Piece r, slope;
    activate(f_g_h[0], sr, r, slope, count);
    for (int64_t k = 0; k < count; ++k) dr[k] = dg[k] * product[first + k] * slope[k];
    for (int64_t k = 0; k < count; ++k) dproduct[first + k] = dg[k] * r[k];
  });
}

void CellMath::gru_reset_back(const float* sums, const float* h_before, const float* dscaled,
                              float* dh_before, float* dsums) const {
  for_pieces(hidden, [&](int64_t first, int64_t count) {
    const float* sr = sums + hidden + first;
    float* dr = dsums + hidden + first;
    Piece r, slope;
    activate(f_g_h[0], sr, r, slope, count);
    for (int64_t k = 0; k < count; ++k) {
      dr[k] = dscaled[first + k] * h_before[first + k] * slope[k];
      dh_before[first + k] += dscaled[first + k] * r[k];
    }
  });
}

}  // namespace lockstep
