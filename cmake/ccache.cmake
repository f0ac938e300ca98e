# SPDX-License-Identifier: Apache-2.0
# Where ccache is, it compiles only what no earlier build did, in another clone too: paths below this
# folder are written relative to the build folder, so they are the same everywhere. What is new
# is not preprocessed once more to be recognised: the compiler's own list of headers serves for that. Precompiled
# headers are looked up as others are, by their contents and by the definitions on the command line.
find_program(LOCKSTEP_CCACHE ccache)
if(LOCKSTEP_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${LOCKSTEP_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  message(STATUS "ccache: ${LOCKSTEP_CCACHE}")
endif()
