# SPDX-License-Identifier: Apache-2.0
# Headers are installed as <lockstep/graph/graph.h> and include each other by that name: a folder called
# `graph` on a user's include path could be anybody's.
foreach(folder graph runtime operators builders models data)
  file(GLOB_RECURSE found RELATIVE ${source} ${source}/${folder}/*.h)
  foreach(header ${found})
    file(READ ${source}/${header} text)
    string(REGEX REPLACE "#include \"(graph|runtime|operators|builders|models|data)/"
           "#include \"lockstep/\\1/" text "${text}")
    file(WRITE ${headers}/${header} "${text}")
  endforeach()
endforeach()
