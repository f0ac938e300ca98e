// Building blocks of a self-contained HTML page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/image.h"

namespace lockstep {

std::string escaped(const std::string& text);
std::string data_url(const Image& image);
std::string percent(double share, int digits = 1);  // of a fraction: 98.5 %

using NamedTexts = std::vector<std::pair<std::string, std::string>>;
std::string table_of(const NamedTexts& rows);

}  // namespace lockstep
