# Links programs of the compiler with LLVM's and MLIR's static libraries, for
# packages: nnv12c needs libc and libm alone then.

# LLVM's own linker takes archives in any order. It keeps functions of the same
# code apart, for LLVM compares addresses of some. Debian has stripped the
# archives of what --icf=safe would know these by.
find_program(NNV12_LLD ld.lld REQUIRED
  PATHS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
get_filename_component(lld_dir ${NNV12_LLD} DIRECTORY)
set(NNV12_PACKAGE_LINK_OPTIONS -B${lld_dir} -fuse-ld=lld -static-libstdc++
  -static-libgcc -Wl,--gc-sections,-O2)

file(GLOB archives
  ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
add_library(NNV12StaticLLVM INTERFACE)

# There are kernels for two processors. LLVM's code for others is left out.
set(names ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM names X86 AArch64)
set(unused_targets "")
foreach(name ${names})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND unused_targets
      "extern \"C\" void LLVMInitialize${name}${part}() {}\n")
  endforeach()
endforeach()
configure_file(compiler/StandIns.cpp.in StandIns.cpp @ONLY)
add_library(NNV12StandIns OBJECT ${PROJECT_BINARY_DIR}/StandIns.cpp)

find_library(ZLIB_ARCHIVE libz.a REQUIRED)
find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
target_link_libraries(NNV12StaticLLVM INTERFACE ${archives}
  ${ZLIB_ARCHIVE} ${ZSTD_ARCHIVE} ${CMAKE_DL_LIBS} m)

# lld's libraries ask for LLVM's shared library.
set_target_properties(lldELF lldCommon PROPERTIES
  INTERFACE_LINK_LIBRARIES NNV12StaticLLVM)
