# Every dependency, found on the system; tools/install_dependencies.sh installs them on Debian and Ubuntu.
# Why each is here: ARCHITECTURE.md, "Dependencies".
find_package(PkgConfig REQUIRED)
find_package(dnnl REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(nlohmann_json 3.10 REQUIRED CONFIG)
find_package(CLI11 2.1 REQUIRED CONFIG)
find_package(Boost 1.81 REQUIRED)  # headers only: Asio, Beast
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp libwebpmux libwebpdemux)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
if(GESSO_TESTS)
  find_package(GTest REQUIRED CONFIG)
  pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
endif()
# The OpenMP runtime that oneDNN was built with: our loops join the same team of threads (see src/base/threads.h).
find_library(GESSO_GOMP NAMES gomp libgomp.so.1 PATHS /usr/lib/gcc/${CMAKE_LIBRARY_ARCHITECTURE}/12 REQUIRED)
