// SPDX-License-Identifier: Apache-2.0
#include "app/pages/page.h"

#include "app/html.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/sha256.h"

namespace lockstep {
namespace {

// The source expression of a Content-Security-Policy for an inline element with this text.
std::string hash_source(std::string_view text) { return "'sha256-" + base64(sha256(text)) + "'"; }

std::string policy_of(const Page& page) {
  const auto sources = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += " " + hash_source(resource(name));
    return text.empty() ? " 'none'" : text;
  };
  return "default-src 'none'; script-src" + sources(page.scripts) + "; style-src" +
         sources(page.styles) + "; base-uri 'none'; form-action 'none'";
}

// In JSON a `<` stands only in strings, where its escape has the same meaning.
void write_data(std::ostream& out, std::string_view json) {
  while (true) {
    const std::size_t at = json.find('<');
    out << json.substr(0, at);
    if (at == json.npos) return;
    out << "\\u003c";
    json.remove_prefix(at + 1);
  }
}

// Titles are short, and have no control characters.
std::string plain(const std::string& text) { return escaped(printable(shortened(text))); }

}  // namespace

void write_page(std::ostream& out, const Page& page) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      << "<meta http-equiv=\"Content-Security-Policy\" content=\"" << policy_of(page) << "\">\n"
      << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      << "<meta name=\"generator\" content=\"lockstep\">\n";
  if (!page.command.empty())
    out << "<meta name=\"description\" content=\"" << escaped(printable(page.command)) << "\">\n";
  out << "<title>" << plain(page.title) << "</title>\n";
  for (const std::string& name : page.styles) out << "<style>" << resource(name) << "</style>\n";
  out << "</head>\n<body>\n" << page.body;
  for (const PageData& data : page.data) {
    out << "<script type=\"application/json\" id=\"" << escaped(data.id) << "\">";
    write_data(out, data.json);
    out << "</script>\n";
  }
  for (const std::string& name : page.scripts) out << "<script>" << resource(name) << "</script>\n";
  out << "</body>\n</html>\n";
}

}  // namespace lockstep
