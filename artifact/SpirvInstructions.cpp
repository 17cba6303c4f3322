//===- SpirvInstructions.cpp - Instructions that kernels use --------------===//
#include "artifact/SpirvInstructions.h"

#include <algorithm>
#include <iterator>
#include <spirv/unified1/GLSL.std.450.h>

namespace nnv12::artifact {

namespace {
using spv::Op;
using Section = SpirvSection;
constexpr uint8_t any = SpirvInstruction::any;
} // namespace

/// By number. The compiler's lowering makes these, and its serializer writes
/// them: no OpKill or OpUnreachable, no images, no atomics, no pointers but
/// those of variables and of access chains into them, no lines and sources.
static constexpr SpirvInstruction instructions[] = {
    {Op::OpUndef, Section::Declarations, 3, 3, ""},
    {Op::OpName, Section::Names, 3, any, ""},
    {Op::OpMemberName, Section::Names, 4, any, ""},
    {Op::OpExtension, Section::Extensions, 2, any, ""},
    {Op::OpExtInstImport, Section::ExtendedInstructions, 3, any, ""},
    {Op::OpExtInst, Section::Functions, 6, 8, ""},
    {Op::OpMemoryModel, Section::MemoryModel, 3, 3, ""},
    {Op::OpEntryPoint, Section::EntryPoints, 5, any, ""},
    {Op::OpExecutionMode, Section::ExecutionModes, 3, 6, ""},
    {Op::OpCapability, Section::Capabilities, 2, 2, ""},
    {Op::OpTypeVoid, Section::Declarations, 2, 2, ""},
    {Op::OpTypeBool, Section::Declarations, 2, 2, ""},
    {Op::OpTypeInt, Section::Declarations, 4, 4, ""},
    {Op::OpTypeFloat, Section::Declarations, 3, 3, ""},
    {Op::OpTypeVector, Section::Declarations, 4, 4, ""},
    {Op::OpTypeArray, Section::Declarations, 4, 4, ""},
    {Op::OpTypeRuntimeArray, Section::Declarations, 3, 3, ""},
    {Op::OpTypeStruct, Section::Declarations, 3, 3, ""},
    {Op::OpTypePointer, Section::Declarations, 4, 4, ""},
    {Op::OpTypeFunction, Section::Declarations, 3, any, ""},
    {Op::OpConstantTrue, Section::Declarations, 3, 3, ""},
    {Op::OpConstantFalse, Section::Declarations, 3, 3, ""},
    {Op::OpConstant, Section::Declarations, 4, 5, ""},
    {Op::OpConstantComposite, Section::Declarations, 5, 7, ""},
    {Op::OpConstantNull, Section::Declarations, 3, 3, ""},
    {Op::OpSpecConstant, Section::Declarations, 4, 4, ""},
    {Op::OpSpecConstantComposite, Section::Declarations, 5, 7, ""},
    {Op::OpFunction, Section::Functions, 5, 5, ""},
    {Op::OpFunctionParameter, Section::Functions, 3, 3, ""},
    {Op::OpFunctionEnd, Section::Functions, 1, 1, ""},
    {Op::OpFunctionCall, Section::Functions, 4, any, ""},
    {Op::OpVariable, Section::Declarations, 4, 4, ""},
    {Op::OpLoad, Section::Functions, 4, 6, ""},
    {Op::OpStore, Section::Functions, 3, 5, ""},
    {Op::OpAccessChain, Section::Functions, 5, 7, ""},
    {Op::OpDecorate, Section::Decorations, 3, 4, ""},
    {Op::OpMemberDecorate, Section::Decorations, 4, 5, ""},
    {Op::OpVectorExtractDynamic, Section::Functions, 5, 5, "Avx"},
    {Op::OpVectorInsertDynamic, Section::Functions, 6, 6, "A=cx"},
    {Op::OpVectorShuffle, Section::Functions, 7, 9, ""},
    {Op::OpCompositeConstruct, Section::Functions, 5, 7, ""},
    {Op::OpCompositeExtract, Section::Functions, 5, 5, ""},
    {Op::OpCompositeInsert, Section::Functions, 6, 6, ""},
    {Op::OpConvertFToU, Section::Functions, 4, 4, "If"},
    {Op::OpConvertFToS, Section::Functions, 4, 4, "If"},
    {Op::OpConvertSToF, Section::Functions, 4, 4, "Fi"},
    {Op::OpConvertUToF, Section::Functions, 4, 4, "Fi"},
    {Op::OpUConvert, Section::Functions, 4, 4, "Jj"},
    {Op::OpSConvert, Section::Functions, 4, 4, "Jj"},
    {Op::OpFConvert, Section::Functions, 4, 4, "Gg"},
    {Op::OpBitcast, Section::Functions, 4, 4, "An"},
    {Op::OpSNegate, Section::Functions, 4, 4, "I="},
    {Op::OpFNegate, Section::Functions, 4, 4, "F="},
    {Op::OpIAdd, Section::Functions, 5, 5, "I=="},
    {Op::OpFAdd, Section::Functions, 5, 5, "F=="},
    {Op::OpISub, Section::Functions, 5, 5, "I=="},
    {Op::OpFSub, Section::Functions, 5, 5, "F=="},
    {Op::OpIMul, Section::Functions, 5, 5, "I=="},
    {Op::OpFMul, Section::Functions, 5, 5, "F=="},
    {Op::OpUDiv, Section::Functions, 5, 5, "I=="},
    {Op::OpSDiv, Section::Functions, 5, 5, "I=="},
    {Op::OpFDiv, Section::Functions, 5, 5, "F=="},
    {Op::OpUMod, Section::Functions, 5, 5, "I=="},
    {Op::OpSRem, Section::Functions, 5, 5, "I=="},
    {Op::OpSMod, Section::Functions, 5, 5, "I=="},
    {Op::OpFRem, Section::Functions, 5, 5, "F=="},
    {Op::OpFMod, Section::Functions, 5, 5, "F=="},
    {Op::OpVectorTimesScalar, Section::Functions, 5, 5, "F=c"},
    {Op::OpDot, Section::Functions, 5, 5, "Fv~"},
    {Op::OpIsNan, Section::Functions, 4, 4, "Bf"},
    {Op::OpIsInf, Section::Functions, 4, 4, "Bf"},
    {Op::OpLogicalEqual, Section::Functions, 5, 5, "B=="},
    {Op::OpLogicalNotEqual, Section::Functions, 5, 5, "B=="},
    {Op::OpLogicalOr, Section::Functions, 5, 5, "B=="},
    {Op::OpLogicalAnd, Section::Functions, 5, 5, "B=="},
    {Op::OpLogicalNot, Section::Functions, 4, 4, "B="},
    {Op::OpSelect, Section::Functions, 6, 6, "Ab=="},
    {Op::OpIEqual, Section::Functions, 5, 5, "Bi~"},
    {Op::OpINotEqual, Section::Functions, 5, 5, "Bi~"},
    {Op::OpUGreaterThan, Section::Functions, 5, 5, "Bi~"},
    {Op::OpSGreaterThan, Section::Functions, 5, 5, "Bi~"},
    {Op::OpUGreaterThanEqual, Section::Functions, 5, 5, "Bi~"},
    {Op::OpSGreaterThanEqual, Section::Functions, 5, 5, "Bi~"},
    {Op::OpULessThan, Section::Functions, 5, 5, "Bi~"},
    {Op::OpSLessThan, Section::Functions, 5, 5, "Bi~"},
    {Op::OpULessThanEqual, Section::Functions, 5, 5, "Bi~"},
    {Op::OpSLessThanEqual, Section::Functions, 5, 5, "Bi~"},
    {Op::OpFOrdEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFUnordEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFOrdNotEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFUnordNotEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFOrdLessThan, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFUnordLessThan, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFOrdGreaterThan, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFUnordGreaterThan, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFOrdLessThanEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFUnordLessThanEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFOrdGreaterThanEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpFUnordGreaterThanEqual, Section::Functions, 5, 5, "Bf~"},
    {Op::OpShiftRightLogical, Section::Functions, 5, 5, "I=i"},
    {Op::OpShiftRightArithmetic, Section::Functions, 5, 5, "I=i"},
    {Op::OpShiftLeftLogical, Section::Functions, 5, 5, "I=i"},
    {Op::OpBitwiseOr, Section::Functions, 5, 5, "I=="},
    {Op::OpBitwiseXor, Section::Functions, 5, 5, "I=="},
    {Op::OpBitwiseAnd, Section::Functions, 5, 5, "I=="},
    {Op::OpNot, Section::Functions, 4, 4, "I="},
    {Op::OpControlBarrier, Section::Functions, 4, 4, ""},
    {Op::OpPhi, Section::Functions, 5, any, ""},
    {Op::OpLoopMerge, Section::Functions, 4, 4, ""},
    {Op::OpSelectionMerge, Section::Functions, 3, 3, ""},
    {Op::OpLabel, Section::Functions, 2, 2, ""},
    {Op::OpBranch, Section::Functions, 2, 2, ""},
    {Op::OpBranchConditional, Section::Functions, 4, 4, ""},
    {Op::OpReturn, Section::Functions, 1, 1, ""},
    {Op::OpReturnValue, Section::Functions, 2, 2, ""},
};

const SpirvInstruction *findSpirvInstruction(uint32_t opcode) {
  const SpirvInstruction *found = std::lower_bound(
      std::begin(instructions), std::end(instructions), opcode,
      [](const SpirvInstruction &instruction, uint32_t number) {
        return instruction.opcode < number;
      });
  bool isIn = found != std::end(instructions) && found->opcode == opcode;
  return isIn ? found : nullptr;
}

struct GlslInstruction {
  uint8_t number;
  char signature[5];
};
/// No Exp, Sin or Pow: their errors are the driver's to choose.
static constexpr GlslInstruction glslInstructions[] = {
    {GLSLstd450RoundEven, "F="}, {GLSLstd450Trunc, "F="},
    {GLSLstd450FAbs, "F="},      {GLSLstd450SAbs, "I="},
    {GLSLstd450FSign, "F="},     {GLSLstd450SSign, "I="},
    {GLSLstd450Floor, "F="},     {GLSLstd450Ceil, "F="},
    {GLSLstd450Sqrt, "F="},      {GLSLstd450InverseSqrt, "F="},
    {GLSLstd450FMin, "F=="},     {GLSLstd450UMin, "I=="},
    {GLSLstd450SMin, "I=="},     {GLSLstd450FMax, "F=="},
    {GLSLstd450UMax, "I=="},     {GLSLstd450SMax, "I=="},
    {GLSLstd450FClamp, "F==="},  {GLSLstd450UClamp, "I==="},
    {GLSLstd450SClamp, "I==="},  {GLSLstd450Fma, "F==="},
};

const char *findGlslSignature(uint32_t number) {
  for (const GlslInstruction &instruction : glslInstructions)
    if (instruction.number == number)
      return instruction.signature;
  return nullptr;
}

} // namespace nnv12::artifact
