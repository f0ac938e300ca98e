// SPDX-License-Identifier: Apache-2.0
#include "app/control/film.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "app/format.h"
#include "data/episodes/cart_pole.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using FilmStates = std::vector<std::vector<double>>;

constexpr std::size_t kStills = 8;

// The picture is 240 x 100; a metre is 42 units, so that the track fits.
constexpr double kMetre = 42, kMiddle = 120, kTrack = 88, kAxle = 76;
constexpr double kPole = 2 * CartPole::kHalfLength * kMetre;
constexpr double kDegrees = 180 / 3.14159265358979323846;

double place_of(const std::vector<double>& state) { return kMiddle + kMetre * state[0]; }
double angle_of(const std::vector<double>& state) { return kDegrees * state[2]; }

std::string coordinate(double number) {
  std::string text = fixed(number, 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string empty_track() {
  const double end = kMetre * CartPole::kMostPlace;
  std::ostringstream out;
  out << "<svg viewBox=\"0 0 240 100\" role=\"img\" aria-label=\"cart and pole\"><path "
         "style=\"stroke:var(--soft)\" d=\"M"
      << coordinate(kMiddle - end) << " " << kTrack << "H" << coordinate(kMiddle + end) << "M"
      << coordinate(kMiddle - end) << " " << kTrack - 6 << "v12M" << coordinate(kMiddle + end)
      << " " << kTrack - 6 << "v12\"/>";
  return out.str();
}

// Draws around the axle. Positions are attributes (`cart`, `pole`) or animations (`cart_moves`,
// `pole_turns`).
std::string cart_and_pole(const std::string& cart, const std::string& cart_moves,
                          const std::string& pole, const std::string& pole_turns) {
  return "<g" + cart + ">" + cart_moves +
         "<rect x=\"-15\" y=\"-4\" width=\"30\" height=\"16\" rx=\"3\" "
         "style=\"fill:var(--blue)\"/><g" +
         pole + ">" + pole_turns + "<path d=\"M0 0V" + coordinate(-kPole) +
         "\" style=\"stroke:var(--orange);stroke-width:4;stroke-linecap:round\"/></g><circle "
         "r=\"2.5\" style=\"fill:var(--card)\"/></g></svg>";
}

std::string still_of(const std::vector<double>& state) {
  return empty_track() +
         cart_and_pole(
             join(" transform=\"translate(", coordinate(place_of(state)), " ", kAxle, ")\""), "",
             " transform=\"rotate(" + coordinate(angle_of(state)) + ")\"", "");
}

std::string animated(const char* type, double seconds, const FilmStates& states,
                     const std::function<std::string(const std::vector<double>&)>& value) {
  std::ostringstream out;
  out << "<animateTransform attributeName=\"transform\" type=\"" << type << "\" dur=\""
      << fixed(seconds, 2) << "s\" repeatCount=\"indefinite\" values=\"";
  for (std::size_t i = 0; i < states.size(); ++i) out << (i > 0 ? ";" : "") << value(states[i]);
  out << "\"/>";
  return out.str();
}

std::string animation_of(const FilmStates& states) {
  const double seconds = CartPole::kStep * static_cast<double>(states.size());
  return empty_track() +
         cart_and_pole("",
                       animated("translate", seconds, states,
                                [](const std::vector<double>& state) {
                                  return join(coordinate(place_of(state)), " ", kAxle);
                                }),
                       "",
                       animated("rotate", seconds, states, [](const std::vector<double>& state) {
                         return coordinate(angle_of(state));
                       }));
}

std::string figure(const std::string& svg, const std::string& caption) {
  return "<figure>" + svg + "<figcaption>" + caption + "</figcaption></figure>\n";
}

std::string cart_pole_film(const FilmStates& states) {
  std::string html = "<div class=\"film\">\n";
  html += "<div class=\"moving\">" +
          figure(animation_of(states), join("all ", states.size(), " steps, in real time")) +
          "</div>\n";
  const std::size_t stills = std::min(kStills, states.size());
  for (std::size_t i = 0; i < stills; ++i) {
    const std::size_t at = stills == 1 ? 0 : i * (states.size() - 1) / (stills - 1);
    html += figure(still_of(states[at]), join("step ", at));
  }
  return html + "</div>\n";
}

}  // namespace

std::string film_of(const EnvironmentKind& kind, const FilmStates& states) {
  if (states.empty() || kind.name != cart_pole().name) return "";
  return cart_pole_film(states);
}

}  // namespace lockstep
