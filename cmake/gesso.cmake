# Options that every target shares, and the function that makes a layer of src/ or a folder of tests a target.
add_library(gesso_options INTERFACE)
target_include_directories(gesso_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(gesso_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-unused-parameter -Wno-psabi
                                              "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # false positives of gcc 12 on std::vector and std::string with optimisation
  target_compile_options(gesso_options INTERFACE -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(GESSO_WERROR)
  target_compile_options(gesso_options INTERFACE -Werror)
endif()
if(GESSO_SANITIZE)
  target_compile_options(gesso_options INTERFACE -fsanitize=${GESSO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gesso_options INTERFACE -fsanitize=${GESSO_SANITIZE})
endif()

# gesso_layer(NAME [DEPENDS libs...]): the static library gesso_NAME of all sources in this folder.
function(gesso_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)  # headers only
    add_library(gesso_${name} INTERFACE)
    target_link_libraries(gesso_${name} INTERFACE gesso_options ${arg_DEPENDS})
    return()
  endif()
  add_library(gesso_${name} STATIC ${sources})
  target_link_libraries(gesso_${name} PUBLIC gesso_options ${arg_DEPENDS})
endfunction()

# gesso_test(NAME DEPENDS libs...): one executable of the folder tests/NAME, run by ctest as NAME.
function(gesso_test name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*_test.cpp)
  if(NOT sources)
    message(FATAL_ERROR "tests/${name} has no *_test.cpp")
  endif()
  string(REPLACE "/" "_" target ${name})
  add_executable(test_${target} ${sources})
  target_include_directories(test_${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${target} PRIVATE GESSO_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                                                    GESSO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Tests are compiled more often than run: without optimisation, and a folder at once, so that the headers of the test
  # framework are read once. Helpers of one folder therefore need names of their own.
  target_compile_options(test_${target} PRIVATE -O0)
  set_target_properties(test_${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  target_link_libraries(test_${target} PRIVATE ${arg_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${target} COMMAND test_${target})
endfunction()
