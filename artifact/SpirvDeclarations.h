//===- SpirvDeclarations.h - Checks what SPIR-V declares --------*- C++ -*-===//
//
// Types, constants and global variables, and whether they are the resources
// that the bundle tells of.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SPIRVDECLARATIONS_H
#define NNV12_ARTIFACT_SPIRVDECLARATIONS_H

#include "artifact/SpirvModule.h"

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

class SpirvDeclarations {
public:
  explicit SpirvDeclarations(SpirvModule &module)
      : facts(module.facts), m(module) {}
  SpirvDeclarations(const SpirvDeclarations &) = delete;

  /// Checks the module's instruction under way.
  bool verify();
  /// Checks that nothing is missing behind the last one.
  bool finish();
  /// Whether a constant, and not LocalSize, gives the size of workgroups.
  bool hasWorkgroupSize() const { return hasWorkgroupSize_; }

private:
  bool uniqueType(bool isNew);
  bool integerType();
  bool floatType();
  bool numberType(uint32_t width, uint64_t full, uint64_t storage);
  bool vectorType();
  bool arrayType();
  bool runtimeArrayType();
  bool stride(uint32_t element);
  bool structType();
  bool isWideEnough(spv::StorageClass storage, uint32_t pointee);
  bool pointerType();
  bool functionType();
  bool constant();
  bool composite();
  bool workgroupSize();
  bool specConstant();
  bool undefined();
  bool variable();
  bool storageBuffer(SpirvId &id, uint32_t block);
  bool pushConstants(uint32_t block);
  bool input(const SpirvId &id, uint32_t pointee);
  bool workgroup(uint32_t pointee);
  bool isBlock(uint32_t type) const {
    return m.is(type, spv::Op::OpTypeStruct) && (m.ids[type].marks & MarkBlock);
  }

  static constexpr uint32_t mostFunctionTypes = 16;

  const SpirvInterface &facts;
  SpirvModule &m;

  bool hasVoid = false, hasBool = false;
  bool hasWorkgroupSize_ = false, hasPushConstants = false;
  uint32_t integers = 0, floats = 0; ///< declared: their widths, ored
  uint32_t functionTypes[mostFunctionTypes];
  uint32_t numFunctionTypes = 0;
  uint32_t bound = 0, builtIns = 0, specialised = 0; ///< a bit each
  uint32_t shared = 0; ///< bytes of workgroup memory so far
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVDECLARATIONS_H
