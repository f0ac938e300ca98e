# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source with the texts of files, each as a raw string literal. Run by the build:
#   cmake -DFOLDER=app/pages -DNAMES=page.css,page.js -DOUTPUT=resources.cc -P compile_resources.cmake
string(REPLACE "," ";" NAMES "${NAMES}")
set(source "// Generated from the files of app/pages by cmake/compile_resources.cmake.\n\
#include <string_view>\n\n#include \"app/pages/page.h\"\n#include \"lockstep/error.h\"\n\n\
namespace lockstep {\n\n\
std::string_view resource(std::string_view name) {\n")
foreach(name IN LISTS NAMES)
  file(READ "${FOLDER}/${name}" text)
  string(FIND "${text}" ")resource\"" end)
  string(LENGTH "${text}" length)
  if(NOT end EQUAL -1 OR length GREATER 60000)  # compilers need not accept literals of more than 65,536 characters
    message(FATAL_ERROR "${name}: ends the literal, or has more than 60,000 characters")
  endif()
  string(APPEND source "  if (name == \"${name}\")\n    return R\"resource(${text})resource\";\n")
endforeach()
string(APPEND source "  fail(\"no resource \", name, \" in app/pages; see app/pages/CMakeLists.txt\");\n}\n\n\
}  // namespace lockstep\n")
file(WRITE "${OUTPUT}" "${source}")
