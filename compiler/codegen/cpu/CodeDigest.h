//===- CodeDigest.h - Whether two kernels are the same code -----*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_CODEDIGEST_H
#define NNV12_COMPILER_CODEGEN_CPU_CODEDIGEST_H

#include <map>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace nnv12::codegen {

/// BLAKE2bp-256 of kernels' code, by symbol of the entry point.
using Fingerprints = std::map<std::string, std::vector<uint8_t>>;

/// A digest for each function that can be called from outside: of the function
/// and all that it calls and refers to, of the machine that code is generated
/// for, and of LLVM's version. `module` is optimised: the machine code depends
/// on these alone. Neither names nor other kernels of the module count.
Fingerprints digestCode(const llvm::Module &module,
                        const llvm::TargetMachine &machine);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_CODEDIGEST_H
