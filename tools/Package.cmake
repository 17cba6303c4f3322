# What packages hold beside what is installed, and Debian's packages by CPack.
# tools/wheel makes all of them.

# Programs load these by name. A wheel and a tarball have them beside the
# library; Debian's packages ask for Debian's.
foreach(name libzstd.so.1 libsodium.so.23)
  find_library(library_${name} ${name} REQUIRED)
  get_filename_component(file ${library_${name}} REALPATH)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${name}
    COMPONENT copies)
endforeach()
# The Python package and its command: the other packages place them where they
# want them.
install(DIRECTORY runtime/python/nnv12 DESTINATION lib/python3/dist-packages
  COMPONENT runtime EXCLUDE_FROM_ALL
  PATTERN __pycache__ EXCLUDE PATTERN _files EXCLUDE)
file(CONFIGURE OUTPUT debian/nnv12 CONTENT [[#!/usr/bin/python3
"""python3 -m nnv12"""
import sys

from nnv12.command import main

sys.exit(main())
]] @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/debian/nnv12
  DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime EXCLUDE_FROM_ALL)
# Users may not write to that folder, so the package keeps the bytecode there.
set(postinst "ldconfig
if command -v py3compile >/dev/null; then py3compile -p nnv12; fi")
set(prerm "if command -v py3clean >/dev/null; then py3clean -p nnv12; fi")
foreach(script postinst prerm)
  file(CONFIGURE OUTPUT debian/${script}
    CONTENT "#!/bin/sh\nset -e\n${${script}}\n" @ONLY)
  set(file ${PROJECT_BINARY_DIR}/debian/${script})
  file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${file})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGE_CONTACT "The contributors of nnv12 <nnv12@example.org>")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "nnv12c turns an ONNX model into one file of code and weights. The runtime
runs it without LLVM, and allocates nothing in a run.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME nnv12)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS
  "libzstd1, libsodium23 | libsodium26, python3, python3-numpy")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS libvulkan1)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Headers and static libraries of the runtime, with files for CMake and for
pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libnnv12-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "nnv12 (= ${PROJECT_VERSION}), libc6-dev")
include(CPack)
