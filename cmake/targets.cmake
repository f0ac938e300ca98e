# SPDX-License-Identifier: Apache-2.0
add_library(lockstep_options INTERFACE)
target_compile_features(lockstep_options INTERFACE cxx_std_20)
option(LOCKSTEP_WERROR "a warning of the compiler stops the build" OFF)
set(lockstep_warnings -Wall -Wextra)
if(LOCKSTEP_WERROR)
  list(APPEND lockstep_warnings -Werror)
endif()
file(RELATIVE_PATH source_from_build ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})  # ../../, as ccache writes it
set(file_names -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${source_from_build}=)
target_compile_options(lockstep_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:$<BUILD_INTERFACE:${lockstep_warnings};${file_names}>>)
if(LOCKSTEP_CUDA_KERNELS)  # nvcc passes the warnings to g++; code that nvcc generates has other line marks
  list(JOIN lockstep_warnings "," lockstep_warnings)
  target_compile_options(lockstep_options INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:$<BUILD_INTERFACE:-Xcompiler=${lockstep_warnings}>>)
endif()
# g++ 12 sees an overlapping memcpy in `"text" + std::string` (GCC bug 105651).
target_compile_options(lockstep_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:$<BUILD_INTERFACE:-Wno-restrict>>)
# clang 19 warns of a call in std::stable_sort of g++ 12's library; clang 14, the sanitizers' compiler, does not.
target_compile_options(lockstep_options INTERFACE
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,15>>:$<BUILD_INTERFACE:-Wno-deprecated-declarations>>)
# g++ collects its garbage whenever its heap has doubled. A heap that may grow fivefold takes a third more memory (at
# most 0.9 GB a file) and a tenth less time.
target_compile_options(lockstep_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:$<BUILD_INTERFACE:--param=ggc-min-expand=400>>)
target_include_directories(lockstep_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_options INTERFACE
    -fsanitize=${LOCKSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lockstep_options INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()

# Kernels get the compiler's full effort. Code that runs once gets less, to keep builds short. Sanitizers' builds, which
# are only tested, have their own level (CMakePresets.json), and -O0 where requested.
function(lockstep_optimise target level)
  if(LOCKSTEP_SANITIZE AND NOT level STREQUAL "-O0")
    return()
  endif()
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:Release,RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
endfunction()

# Headers take most of a file's compile time: sixteen files compiled as one take a third of the time. Every build joins
# files, so that CI tests the code that users run.
option(LOCKSTEP_JOINED_FILES "compile sixteen files as one: slower when one of them is edited" ON)
function(lockstep_join target)
  if(LOCKSTEP_JOINED_FILES AND NOT CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# Reads a target's most used headers once for all of its files. clang-tidy reads files without precompiled headers, and
# finds missing includes.
function(lockstep_precompile target)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    # Without the headers' times ccache recognises the result of another build.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>)
    list(TRANSFORM ARGN REPLACE ">" "$<ANGLE-R>" OUTPUT_VARIABLE headers)
    list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

# lockstep_library(NAME [ALONE] sources...): the library of one folder, with the project's warnings.
# ALONE: sources are never joined, because they share too many names.
set_property(GLOBAL PROPERTY lockstep_libraries lockstep_options)
function(lockstep_library name)
  set(sources ${ARGN})
  list(REMOVE_ITEM sources ALONE)
  add_library(lockstep_${name} STATIC ${sources})
  if("ALONE" IN_LIST ARGN)
    set_target_properties(lockstep_${name} PROPERTIES UNITY_BUILD OFF)
  else()
    lockstep_join(lockstep_${name})
  endif()
  add_library(Lockstep::${name} ALIAS lockstep_${name})
  set_target_properties(lockstep_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(lockstep_${name} PUBLIC lockstep_options)
  set_property(GLOBAL APPEND PROPERTY lockstep_libraries lockstep_${name})
endfunction()
