// SPDX-License-Identifier: Apache-2.0
#include "app/html.h"

namespace lockstep {

std::string base64(const std::string& bytes) {
  static const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string data_url(const Image& image) {
  return "data:image/png;base64," + base64(png_of(image));
}

std::string photo_url(const Image& image) {
  constexpr int kQuality = 88;
  const std::string png = png_of(image), jpeg = jpeg_of(image, kQuality);
  return png.size() <= jpeg.size() ? "data:image/png;base64," + base64(png)
                                   : "data:image/jpeg;base64," + base64(jpeg);
}

std::string table_of(const NamedTexts& rows) {
  std::string text = "<table class=\"said\">\n";
  for (const auto& [name, value] : rows)
    text += "<tr><th>" + escaped(name) + "</th><td>" + escaped(value) + "</td></tr>\n";
  return text + "</table>\n";
}

}  // namespace lockstep
