// SPDX-License-Identifier: Apache-2.0
#include "app/train/search.h"

#include <algorithm>
#include <cmath>

#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
constexpr std::chrono::duration<double> kPause(0.1);  // between two agreements
constexpr const char* kValues[] = {"nan", "inf", "-inf"};
constexpr unsigned kRankBits = 20, kValueBits = 2;

uint64_t packed(int64_t step, int rank, float loss) {
  const unsigned value = std::isnan(loss) ? 0 : loss > 0 ? 1 : 2;
  return (static_cast<uint64_t>(step) << kRankBits | static_cast<uint64_t>(rank)) << kValueBits |
         value;
}

BadLoss unpacked(uint64_t number) {
  const uint64_t place = number >> kValueBits;
  return {static_cast<int64_t>(place >> kRankBits),
          static_cast<int>(place & ((1U << kRankBits) - 1)),
          kValues[number & ((1U << kValueBits) - 1)]};
}

}  // namespace

void LossWatch::note(int64_t step, float loss) {
  if (!std::isfinite(loss))
    first_ = std::min(first_, packed(step, comm_ ? comm_->rank() : 0, loss));
}

std::optional<BadLoss> LossWatch::agree(int64_t step) {
  uint64_t first = first_;
  if (comm_ && step > agreed_) {
    const int64_t since = agreed_ < 0 ? 1 : step - agreed_;  // a resumed run may begin anywhere
    const std::chrono::duration<double> each = (Clock::now() - when_) / since;
    const auto steps = static_cast<uint64_t>(std::max(1., kPause / each));
    first = least_of_all(*comm_, first, "whether losses are finite");
    next_ = step + static_cast<int64_t>(least_of_all(*comm_, steps, "when to ask again"));
    agreed_ = step;
    when_ = Clock::now();
  }
  if (first == kNone) return std::nullopt;
  return unpacked(first);
}

Suspect suspect_of(const std::string& fed, const NotFinite& found) {
  if (!fed.empty()) return {Suspect::Kind::fed, 0, fed};
  if (found.step < 0) return {};
  return {found.received ? Suspect::Kind::received : Suspect::Kind::computed, found.step,
          "the first value that is not finite is " + found.text};
}

Suspect foremost(Comm* comm, const Suspect& mine) {
  if (!comm) return mine;
  const auto kind = static_cast<uint64_t>(mine.kind), step = static_cast<uint64_t>(mine.step);
  const uint64_t place = kind << 60U | step << 20U | static_cast<uint64_t>(comm->rank());
  const uint64_t first = least_of_all(*comm, place, "who found what is not finite");
  Suspect found{static_cast<Suspect::Kind>(first >> 60U), static_cast<int>(first >> 20U), ""};
  if (found.kind == Suspect::Kind::none) return {};
  const int rank = static_cast<int>(first & 0xFFFFFU);
  found.text = share_text(*comm, join(mine.text, " on rank ", rank), "what is not finite", rank);
  return found;
}

}  // namespace lockstep
