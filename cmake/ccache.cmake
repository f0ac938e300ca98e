# SPDX-License-Identifier: Apache-2.0
# With ccache, only files that no earlier build compiled are compiled, in another clone, too: paths below this folder
# are written relative to the build folder, so they are equal everywhere. A new file is not preprocessed a second time
# for its key: the compiler's own list of headers serves instead. Precompiled headers are looked up like other headers,
# by their contents and by the definitions on the command line.
find_program(LOCKSTEP_CCACHE ccache)
if(LOCKSTEP_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${LOCKSTEP_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  message(STATUS "ccache: ${LOCKSTEP_CCACHE}")
endif()
