# SPDX-License-Identifier: Apache-2.0
# Castellan authors
#
# A folder under src/ is a library and a namespace. castellan_library(NAME DEPS...) makes the target castellan_NAME
# of all its *.cc files and, when it has *_test.cc files, the test program NAME_test. scripts/layers checks that the
# includes agree with the table of layers; the DEPS here make the linker agree with it too.

option(CASTELLAN_FUZZ "build the fuzz targets (needs clang)" OFF)
set(CASTELLAN_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")

add_library(castellan_flags INTERFACE)
target_compile_options(castellan_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wno-invalid-offsetof -Werror=return-type -Werror=switch
  -fno-omit-frame-pointer -msse4.2)
target_include_directories(castellan_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
if(CASTELLAN_SANITIZE)
  target_compile_options(castellan_flags INTERFACE -fsanitize=${CASTELLAN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(castellan_flags INTERFACE -fsanitize=${CASTELLAN_SANITIZE})
endif()
if(CASTELLAN_FUZZ)
  target_compile_options(castellan_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(castellan_library NAME)
  cmake_parse_arguments(A "" "" "DEPS;LINK;EXCLUDE" ${ARGN})
  file(GLOB SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*/*.cc)
  set(TESTS ${SOURCES})
  list(FILTER TESTS INCLUDE REGEX "_test\\.cc$")
  list(FILTER SOURCES EXCLUDE REGEX "_test\\.cc$")
  foreach(FILE ${A_EXCLUDE})
    list(REMOVE_ITEM SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/${FILE})
  endforeach()
  if(SOURCES)
    add_library(castellan_${NAME} STATIC ${SOURCES})
    set(KIND PUBLIC)
    if(NAME STREQUAL "base")
      target_precompile_headers(castellan_base PRIVATE ${CMAKE_SOURCE_DIR}/src/base/precompiled.h)
    elseif(NOT CASTELLAN_NO_PCH)
      target_precompile_headers(castellan_${NAME} REUSE_FROM castellan_base)
    endif()
  else()
    add_library(castellan_${NAME} INTERFACE)
    set(KIND INTERFACE)
  endif()
  list(TRANSFORM A_DEPS PREPEND castellan_)
  target_link_libraries(castellan_${NAME} ${KIND} castellan_flags ${A_DEPS} ${A_LINK})
  if(TESTS)
    add_executable(${NAME}_test ${TESTS})
    target_precompile_headers(${NAME}_test REUSE_FROM castellan_base)
    target_link_libraries(${NAME}_test PRIVATE castellan_${NAME} GTest::gtest GTest::gtest_main Threads::Threads)
    target_compile_definitions(${NAME}_test PRIVATE CASTELLAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")   # tests find their data by it
    set_property(GLOBAL APPEND PROPERTY CASTELLAN_TESTS ${NAME}_test)
  endif()
endfunction()
