// SPDX-License-Identifier: Apache-2.0
#include "lockstep/episodes.h"
#include "app/control/played.h"
#include "data/episodes/cart_pole.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"

namespace lockstep::fuzz {
namespace {

Environments two_carts() { return {cart_pole(), {.count = 2}}; }

}  // namespace

// Accepted episodes continue, and are written in a form that reads back as the same episodes.
void read_episodes(const std::string& text) {
  Environments carts = two_carts(), again = two_carts();
  if (accepts([&] { carts.restore(text); })) {
    expect(accepts([&] { again.restore(carts.text()); }) && again.text() == carts.text());
    accepts([&] {  // extreme states may lead to infinity, an error that names the value
      for (int step = 0; step < 30; ++step) carts.step(std::vector<int64_t>{0, 1});
    });
  }
  const std::vector<Episode> episodes = episodes_in(text, "found");
  expect(text_of(episodes_in(text_of(episodes), "again")) == text_of(episodes));
}

Seeds episodes_seeds() {
  Environments carts = two_carts();
  const std::string first = carts.text();
  for (int step = 0; step < 40; ++step) carts.step(std::vector<int64_t>{step % 2, 1});
  return {first, carts.text(),
          text_of({{.environment = 1, .steps = 9, .sum = 9}, {0, 500, 500, true}})};
}

}  // namespace lockstep::fuzz
