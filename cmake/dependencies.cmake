# SPDX-License-Identifier: Apache-2.0
# Finds every outside library and gives it one name. Needs no network at configure time.
# Included by the project and, installed, by LockstepConfig.cmake.
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED CONFIG)
# Debian's dnnl-config.cmake requires OpenCL's headers, which a CPU build does not need.
if(NOT TARGET DNNL::dnnl)
  find_library(LOCKSTEP_DNNL dnnl REQUIRED)
  find_path(LOCKSTEP_DNNL_INCLUDE oneapi/dnnl/dnnl.hpp REQUIRED)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${LOCKSTEP_DNNL}
                        INTERFACE_INCLUDE_DIRECTORIES ${LOCKSTEP_DNNL_INCLUDE})
endif()
find_package(Threads REQUIRED)
find_package(Gloo REQUIRED CONFIG)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
if(NOT TARGET WebP::webp)  # Debian's package has no CMake file
  find_library(LOCKSTEP_WEBP webp REQUIRED)
  find_path(LOCKSTEP_WEBP_INCLUDE webp/decode.h REQUIRED)
  add_library(WebP::webp UNKNOWN IMPORTED)
  set_target_properties(WebP::webp PROPERTIES IMPORTED_LOCATION ${LOCKSTEP_WEBP}
                        INTERFACE_INCLUDE_DIRECTORIES ${LOCKSTEP_WEBP_INCLUDE})
endif()
if(NOT TARGET Cairo::Cairo)  # Cairo has no CMake file
  find_library(LOCKSTEP_CAIRO cairo REQUIRED)
  find_path(LOCKSTEP_CAIRO_INCLUDE cairo.h PATH_SUFFIXES cairo REQUIRED)
  add_library(Cairo::Cairo UNKNOWN IMPORTED)
  set_target_properties(Cairo::Cairo PROPERTIES IMPORTED_LOCATION ${LOCKSTEP_CAIRO}
                        INTERFACE_INCLUDE_DIRECTORIES ${LOCKSTEP_CAIRO_INCLUDE})
endif()
find_package(yaml-cpp REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(CLI11 REQUIRED CONFIG)
if(NOT TARGET yaml-cpp::yaml-cpp)  # 0.7 exports it without a namespace
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
