// Pieces of a page that needs no other file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/image.h"

namespace lockstep {

std::string escaped(const std::string& text);
std::string data_url(const Image& image);
std::string percent(double share, int digits = 1);  // of 1: 98.5 %

using NamedTexts = std::vector<std::pair<std::string, std::string>>;
std::string table_of(const NamedTexts& rows);

}  // namespace lockstep
