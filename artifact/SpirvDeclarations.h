//===- SpirvDeclarations.h - Checks what SPIR-V declares --------*- C++ -*-===//
//
// Types, constants and global variables, and whether they are the resources
// that the bundle tells of.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SPIRVDECLARATIONS_H
#define NNV12_ARTIFACT_SPIRVDECLARATIONS_H

#include "artifact/SpirvChecks.h"

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

class SpirvDeclarations : public SpirvChecks {
protected:
  using SpirvChecks::SpirvChecks;

  /// Checks the instruction under way.
  void declare();
  /// Checks that nothing is missing behind the last one.
  void finishDeclarations();

  /// Whether a constant, and not LocalSize, gives the size of workgroups.
  bool hasWorkgroupSize = false;

private:
  void uniqueType(bool isNew);
  void integerType();
  void floatType();
  void numberType(uint32_t &known, uint64_t full);
  void vectorType();
  void arrayType();
  void stride(uint32_t element);
  void structType();
  bool isWideEnough(spv::StorageClass storage, uint32_t pointee);
  void pointerType();
  void functionType();
  void constant();
  void composite();
  void workgroupSize(uint32_t builtIn);
  void specConstant();
  void undefined();
  void globalVariable();
  void storageBuffer(SpirvId &id, uint32_t block);
  void pushConstants(uint32_t block);
  void input(const SpirvId &id, uint32_t pointee);
  void workgroup(uint32_t pointee);
  bool isBlock(uint32_t type) const {
    return is(type, spv::Op::OpTypeStruct) && (ids[type].marks & MarkBlock);
  }

  static constexpr uint32_t mostFunctionTypes = 16;

  bool hasVoid_ = false, hasBool_ = false, hasPushConstants_ = false;
  uint32_t integers_ = 0, floats_ = 0; ///< declared: their widths, ored
  uint32_t functionTypes_[mostFunctionTypes];
  uint32_t numFunctionTypes_ = 0;
  uint32_t bindings_ = 0, builtIns_ = 0, specialised_ = 0; ///< a bit each
  uint32_t shared_ = 0; ///< bytes of workgroup memory so far
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVDECLARATIONS_H
