// SPDX-License-Identifier: Apache-2.0
#include "data/formats/other_formats.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

struct OtherFormat {
  std::string_view name;
  std::size_t at;  // offset of the mark in the file
  std::string_view mark;
};

constexpr OtherFormat kOthers[]{
    {"a GIF file", 0, "GIF87a"sv},
    {"a GIF file", 0, "GIF89a"sv},
    {"a TIFF file", 0, "II*\0"sv},
    {"a TIFF file", 0, "MM\0*"sv},
    {"a BigTIFF file", 0, "II+\0"sv},
    {"a BigTIFF file", 0, "MM\0+"sv},
    {"an AVIF file", 4, "ftypavif"sv},
    {"an AVIF file", 4, "ftypavis"sv},
    {"a HEIC file", 4, "ftyphei"sv},
    {"a HEIC file", 4, "ftyphev"sv},
    {"a HEIF file", 4, "ftypmif1"sv},
    {"a HEIF file", 4, "ftypmsf1"sv},
    {"a video", 4, "ftyp"sv},  // MP4's family; must follow picture formats of the family
    {"a JPEG XL file", 0, "\xFF\x0A"sv},
    {"a JPEG XL file", 4, "JXL \r\n\x87\n"sv},
    {"a JPEG 2000 file", 4, "jP  \r\n\x87\n"sv},
    {"a JPEG 2000 file", 0, "\xFF\x4F\xFF\x51"sv},
    {"an icon (ICO)", 0, "\0\0\1\0"sv},
    {"a Photoshop file", 0, "8BPS"sv},
    {"an OpenEXR file", 0, "\x76\x2F\x31\x01"sv},
    {"a DDS file", 0, "DDS "sv},
    {"a QOI file", 0, "qoif"sv},
    {"an SVG file", 0, "<svg"sv},
    {"an XML file", 0, "<?xml"sv},  // usually SVG
    {"a web page", 0, "<!DOCTYPE html"sv},
    {"a web page", 0, "<!doctype html"sv},
    {"a web page", 0, "<html"sv},
    {"a PDF file", 0, "%PDF-"sv},
    {"a ZIP archive", 0, "PK\3\4"sv},
    {"a gzip archive", 0, "\x1F\x8B"sv},
    {"macOS's notes on another file (AppleDouble)", 0, "\0\5\x16\7"sv},
    {"a pointer of Git LFS (`git lfs pull` gets the file)", 0, "version https://git-lfs"sv},
};

}  // namespace

std::string_view name_of_other_format(std::string_view bytes) {
  for (const OtherFormat& other : kOthers)
    if (bytes.size() > other.at && bytes.substr(other.at).starts_with(other.mark))
      return other.name;
  return {};
}

}  // namespace lockstep
