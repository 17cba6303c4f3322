# Finds MLIR, LLVM and lld 22 and says how the compiler's sources are built.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "found MLIR ${LLVM_VERSION_MAJOR}, expected 22")
endif()
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# Also where tablegen looks.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
if(NNV12_PACKAGE)
  include(compiler/StaticLLVM.cmake)
endif()

# Most of the compiler's time is LLVM's. Under sanitizers it takes longer to
# optimise the compiler than its tests take without that.
set(NNV12_COMPILER_FLAGS -fno-rtti -fno-exceptions)
if(NNV12_SANITIZE)
  list(APPEND NNV12_COMPILER_FLAGS -O0)
else()
  list(APPEND NNV12_COMPILER_FLAGS -O1)
endif()

# nnv12_compiler_library(NAME source... [DEPENDS target...] [LINK library...])
# A static library of the compiler: no RTTI, as libLLVM is built.
function(nnv12_compiler_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${NNV12_COMPILER_FLAGS})
  if(NNV12_PACKAGE)
    list(TRANSFORM ARG_LINK REPLACE "^(MLIR|LLVM)$" NNV12StaticLLVM)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  nnv12_precompile(${name})
  nnv12_join_files(${name})
endfunction()

function(nnv12_precompile target)
  if(NNV12_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM NNV12Precompiled)
    # As libraries are compiled: a program would have -fPIE.
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# What most files of the compiler include. The sources that have it all included
# would do without: other builds compile them so.
if(NNV12_PRECOMPILE_HEADERS)
  set(empty ${PROJECT_BINARY_DIR}/Precompiled.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(NNV12Precompiled STATIC ${empty})
  target_compile_options(NNV12Precompiled PRIVATE ${NNV12_COMPILER_FLAGS})
  add_dependencies(NNV12Precompiled NNIncGen PlanIncGen)
  set(dialects ${PROJECT_SOURCE_DIR}/dialects)
  target_precompile_headers(NNV12Precompiled PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${dialects}/nn/NNDialect.h>"
    "$<$<COMPILE_LANGUAGE:CXX>:${dialects}/plan/PlanDialect.h>"
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>
    <mlir/Transforms/GreedyPatternRewriteDriver.h>)
endif()
