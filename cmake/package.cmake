# SPDX-License-Identifier: Apache-2.0
# `cpack` makes a Debian package of the files that cmake/install.cmake installs: see tools/package.sh. The program's
# libraries determine the needed packages. Packages for building against Lockstep are suggested.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_CONTACT "The Lockstep authors")
set(CPACK_PACKAGE_DESCRIPTION "Replicates and differentiates a network that is written for one device and leaves one \
ONNX file with the whole training step, which it plans and runs on CPUs or NVIDIA GPUs. Contains the program, C++ \
headers and static libraries.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS fonts-dejavu-core)
string(JOIN ", " CPACK_DEBIAN_PACKAGE_SUGGESTS libcairo2-dev libcli11-dev libdnnl-dev libgloo-dev libjpeg-dev
  libonnx-dev libpng-dev libprotobuf-dev libssl-dev libwebp-dev libyaml-cpp-dev nlohmann-json3-dev
  zlib1g-dev)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)  # seconds where xz takes a minute
include(CPack)
