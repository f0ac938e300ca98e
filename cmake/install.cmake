# SPDX-License-Identifier: Apache-2.0
# `cmake --install` leaves headers, libraries, the binary, its manual page and completions, examples of
# configurations, licence and notices, and a find_package(Lockstep).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY lockstep_libraries)
install(TARGETS ${libraries} EXPORT LockstepTargets)
install(TARGETS lockstep_cli)
install(DIRECTORY include/lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(CODE "
  set(program [==[$<TARGET_FILE:lockstep_cli>]==])
  set(texts \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")")
install(SCRIPT cmake/install_texts.cmake)

set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/lockstep)
install(DIRECTORY configs/ DESTINATION ${doc_dir}/examples)
install(FILES LICENSE DESTINATION ${doc_dir} RENAME copyright)  # Debian's name for the licence

# Licence, NOTICE and the copyright files of compiled-in libraries. A bundle installs only this component.
find_file(LOCKSTEP_CLI11_HEADER CLI/CLI.hpp REQUIRED)
find_file(LOCKSTEP_JSON_HEADER nlohmann/json.hpp REQUIRED)
set(compiled_in ${LOCKSTEP_CLI11_HEADER} ${LOCKSTEP_JSON_HEADER})
if(LOCKSTEP_CUDA_KERNELS)  # the path of the toolkit's agreement depends on its installation
  file(GLOB cuda_documents /usr/share/doc/cuda-cudart-* ${CUDAToolkit_BIN_DIR}/../dist-info/nvidia_cuda_runtime*/licenses)
  find_file(LOCKSTEP_CUDA_LICENCE NAMES EULA.txt License.txt copyright NO_DEFAULT_PATH
            PATHS ${CUDAToolkit_BIN_DIR}/.. ${cuda_documents})
  list(APPEND compiled_in cuda-runtime=${LOCKSTEP_CUDA_LICENCE})
endif()
install(CODE "
  set(compiled_in [==[${compiled_in}]==])
  execute_process(COMMAND [==[${PROJECT_SOURCE_DIR}/tools/notices.sh]==]
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/lockstep\" \${compiled_in}
    RESULT_VARIABLE failed)
  if(failed)
    message(WARNING \"the notices of the installed copy are not complete\")
  endif()" COMPONENT notices)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${package_dir})
configure_file(cmake/LockstepConfig.cmake ${PROJECT_BINARY_DIR}/LockstepConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfig.cmake DESTINATION ${package_dir})
install(FILES cmake/dependencies.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake DESTINATION ${package_dir})
