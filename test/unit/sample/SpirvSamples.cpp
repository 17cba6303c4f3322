//===- SpirvSamples.cpp - Modules like those of kernels -------------------===//
#include "test/unit/sample/SpirvSamples.h"

namespace nnv12::test {

/// Everything that most kernels have: buffers that are read and written, push
/// constants, workgroup memory and a barrier, a loop with phis, selections, a
/// variable, a function of its own.
static const char kernel[] = R"(
OpCapability Shader
OpExtension "SPV_KHR_storage_buffer_storage_class"
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %global %local
OpExecutionMode %main LocalSize 64 1 1
OpName %main "main"
OpMemberName %Quads 0 "values"
OpDecorate %floats ArrayStride 4
OpDecorate %Floats Block
OpMemberDecorate %Floats 0 Offset 0
OpMemberDecorate %Floats 0 NonWritable
OpDecorate %quads ArrayStride 16
OpDecorate %Quads Block
OpMemberDecorate %Quads 0 Offset 0
OpDecorate %words ArrayStride 4
OpDecorate %Words Block
OpMemberDecorate %Words 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %in NonWritable
OpDecorate %weights DescriptorSet 0
OpDecorate %weights Binding 1
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 2
OpDecorate %global BuiltIn GlobalInvocationId
OpDecorate %local BuiltIn LocalInvocationId
OpDecorate %twice NoContraction
%void = OpTypeVoid
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%f32 = OpTypeFloat 32
%uvec3 = OpTypeVector %u32 3
%vec4 = OpTypeVector %f32 4
%bvec4 = OpTypeVector %bool 4
%toVoid = OpTypeFunction %void
%toVec4 = OpTypeFunction %vec4 %vec4
%c0 = OpConstant %u32 0
%c1 = OpConstant %u32 1
%c2 = OpConstant %u32 2
%c4 = OpConstant %u32 4
%c64 = OpConstant %u32 64
%c264 = OpConstant %u32 264
%true = OpConstantTrue %bool
%f1 = OpConstant %f32 0x3f800000
%zeros = OpConstantNull %vec4
%ones = OpConstantComposite %vec4 %f1 %f1 %f1 %f1
%floats = OpTypeRuntimeArray %f32
%Floats = OpTypeStruct %floats
%quads = OpTypeRuntimeArray %vec4
%Quads = OpTypeStruct %quads
%words = OpTypeArray %u32 %c4
%Words = OpTypeStruct %words
%shared = OpTypeArray %vec4 %c64
%Shared = OpTypeStruct %shared
%toFloats = OpTypePointer StorageBuffer %Floats
%toQuads = OpTypePointer StorageBuffer %Quads
%toFloat = OpTypePointer StorageBuffer %f32
%toQuad = OpTypePointer StorageBuffer %vec4
%toWords = OpTypePointer PushConstant %Words
%toWord = OpTypePointer PushConstant %u32
%toInput = OpTypePointer Input %uvec3
%toInputWord = OpTypePointer Input %u32
%toShared = OpTypePointer Workgroup %Shared
%toTile = OpTypePointer Workgroup %vec4
%toResult = OpTypePointer Function %vec4
%in = OpVariable %toQuads StorageBuffer
%weights = OpVariable %toFloats StorageBuffer
%out = OpVariable %toQuads StorageBuffer
%push = OpVariable %toWords PushConstant
%global = OpVariable %toInput Input
%local = OpVariable %toInput Input
%tile = OpVariable %toShared Workgroup
%relu = OpFunction %vec4 None %toVec4
%x = OpFunctionParameter %vec4
%reluBegin = OpLabel
%negative = OpFOrdLessThan %bvec4 %x %zeros
%clipped = OpSelect %vec4 %negative %zeros %x
OpReturnValue %clipped
OpFunctionEnd
%main = OpFunction %void None %toVoid
%entry = OpLabel
%result = OpVariable %toResult Function
%ids = OpLoad %uvec3 %global
%i = OpCompositeExtract %u32 %ids 0
%nAt = OpAccessChain %toWord %push %c0 %c1
%n = OpLoad %u32 %nAt
%inside = OpULessThan %bool %i %n
OpStore %result %ones
OpSelectionMerge %done None
OpBranchConditional %inside %compute %done
%compute = OpLabel
OpBranch %header
%header = OpLabel
%k = OpPhi %u32 %c0 %compute %k1 %continue
%acc = OpPhi %vec4 %zeros %compute %acc1 %continue
%more = OpULessThan %bool %k %c4
OpLoopMerge %after %continue None
OpBranchConditional %more %body %after
%body = OpLabel
%vAt = OpAccessChain %toQuad %in %c0 %k
%v = OpLoad %vec4 %vAt
%wAt = OpAccessChain %toFloat %weights %c0 %k
%w = OpLoad %f32 %wAt
%splat = OpCompositeConstruct %vec4 %w %w %w %w
%sum = OpExtInst %vec4 %glsl Fma %v %splat %acc
%bit = OpBitwiseAnd %u32 %k %c1
%isOdd = OpIEqual %bool %bit %c1
OpSelectionMerge %joined None
OpBranchConditional %isOdd %then %joined
%then = OpLabel
%twice = OpFAdd %vec4 %sum %sum
OpBranch %joined
%joined = OpLabel
%acc1 = OpPhi %vec4 %sum %body %twice %then
OpBranch %continue
%continue = OpLabel
%k1 = OpIAdd %u32 %k %c1
OpBranch %header
%after = OpLabel
%positive = OpFunctionCall %vec4 %relu %acc
%first = OpCompositeExtract %f32 %positive 0
%mixed = OpCompositeInsert %vec4 %first %positive 3
%swapped = OpVectorShuffle %vec4 %mixed %acc 0 7 2 1
OpStore %result %swapped
%lAt = OpAccessChain %toInputWord %local %c0
%l = OpLoad %u32 %lAt
%tAt = OpAccessChain %toTile %tile %c0 %l
OpStore %tAt %positive
OpBranch %done
%done = OpLabel
OpControlBarrier %c2 %c2 %c264
%last = OpLoad %vec4 %result
%oAt = OpAccessChain %toQuad %out %c0 %i
OpStore %oAt %last Aligned 16
OpReturn
OpFunctionEnd
)";

/// The size of the workgroup and of its memory by specialization constants, and
/// a loop that is left from its middle.
static const char specialised[] = R"(
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %sx SpecId 0
OpDecorate %sy SpecId 1
OpDecorate %size BuiltIn WorkgroupSize
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpDecorate %Words Block
OpMemberDecorate %Words 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%uvec3 = OpTypeVector %u32 3
%toVoid = OpTypeFunction %void
%c0 = OpConstant %u32 0
%c1 = OpConstant %u32 1
%c2 = OpConstant %u32 2
%c7 = OpConstant %u32 7
%c264 = OpConstant %u32 264
%sx = OpSpecConstant %u32 32
%sy = OpSpecConstant %u32 2
%size = OpSpecConstantComposite %uvec3 %sx %sy %c1
%words = OpTypeRuntimeArray %u32
%Words = OpTypeStruct %words
%shared = OpTypeArray %u32 %sx
%toWords = OpTypePointer StorageBuffer %Words
%toWord = OpTypePointer StorageBuffer %u32
%toShared = OpTypePointer Workgroup %shared
%toTile = OpTypePointer Workgroup %u32
%toIndex = OpTypePointer Input %u32
%out = OpVariable %toWords StorageBuffer
%tile = OpVariable %toShared Workgroup
%scalar = OpVariable %toTile Workgroup
%index = OpVariable %toIndex Input
%main = OpFunction %void None %toVoid
%entry = OpLabel
%i = OpLoad %u32 %index
%row = OpUMod %u32 %i %sx
%tAt = OpAccessChain %toTile %tile %row
OpStore %tAt %i
OpControlBarrier %c2 %c2 %c264
OpBranch %header
%header = OpLabel
%k = OpPhi %u32 %i %entry %k1 %continue
OpLoopMerge %after %continue None
OpBranch %body
%body = OpLabel
%isLast = OpUGreaterThan %bool %k %c7
OpSelectionMerge %joined None
OpBranchConditional %isLast %leave %joined
%leave = OpLabel
OpBranch %after
%joined = OpLabel
%half = OpShiftRightLogical %u32 %k %c1
OpBranch %continue
%continue = OpLabel
%k1 = OpIAdd %u32 %half %c2
OpBranch %header
%after = OpLabel
%u = OpUndef %u32
%sum = OpIAdd %u32 %k %u
OpStore %scalar %sum
%oAt = OpAccessChain %toWord %out %c0 %i
OpStore %oAt %sum
OpReturn
OpFunctionEnd
)";

/// Numbers of all widths; those of 8 and 16 bits are for storage alone.
static const char widths[] = R"(
OpCapability Matrix
OpCapability Shader
OpCapability Int64
OpCapability Float64
OpCapability StorageBuffer8BitAccess
OpCapability UniformAndStorageBuffer16BitAccess
OpExtension "SPV_KHR_8bit_storage"
OpExtension "SPV_KHR_16bit_storage"
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %group
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %halves ArrayStride 8
OpDecorate %Halves Block
OpMemberDecorate %Halves 0 Offset 0
OpDecorate %bytes ArrayStride 1
OpDecorate %Bytes Block
OpMemberDecorate %Bytes 0 Offset 0
OpDecorate %doubles ArrayStride 8
OpDecorate %Doubles Block
OpMemberDecorate %Doubles 0 Offset 0
OpDecorate %a DescriptorSet 0
OpDecorate %a Binding 0
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 1
OpDecorate %b NonWritable
OpDecorate %c DescriptorSet 0
OpDecorate %c Binding 2
OpDecorate %group BuiltIn WorkgroupId
%void = OpTypeVoid
%bool = OpTypeBool
%u8 = OpTypeInt 8 0
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%f16 = OpTypeFloat 16
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
%uvec3 = OpTypeVector %u32 3
%half4 = OpTypeVector %f16 4
%vec4 = OpTypeVector %f32 4
%toVoid = OpTypeFunction %void
%c0 = OpConstant %u32 0
%c3 = OpConstant %u32 3
%c16 = OpConstant %u32 16
%big = OpConstant %u64 1 2
%pi = OpConstant %f64 0x54442d18 0x400921fb
%halves = OpTypeRuntimeArray %half4
%Halves = OpTypeStruct %halves
%bytes = OpTypeArray %u8 %c16
%Bytes = OpTypeStruct %bytes
%doubles = OpTypeRuntimeArray %f64
%Doubles = OpTypeStruct %doubles
%toHalves = OpTypePointer StorageBuffer %Halves
%toHalf = OpTypePointer StorageBuffer %half4
%toBytes = OpTypePointer StorageBuffer %Bytes
%toByte = OpTypePointer StorageBuffer %u8
%toDoubles = OpTypePointer StorageBuffer %Doubles
%toDouble = OpTypePointer StorageBuffer %f64
%toInput = OpTypePointer Input %uvec3
%a = OpVariable %toHalves StorageBuffer
%b = OpVariable %toBytes StorageBuffer
%c = OpVariable %toDoubles StorageBuffer
%group = OpVariable %toInput Input
%main = OpFunction %void None %toVoid
%entry = OpLabel
%ids = OpLoad %uvec3 %group
%i = OpVectorExtractDynamic %u32 %ids %c0
%hAt = OpAccessChain %toHalf %a %c0 %i
%h = OpLoad %half4 %hAt Aligned 8
%wide = OpFConvert %vec4 %h
%positive = OpExtInst %vec4 %glsl FAbs %wide
%dot = OpDot %f32 %positive %wide
%scaled = OpVectorTimesScalar %vec4 %positive %dot
%bAt = OpAccessChain %toByte %b %c0 %c3
%byte = OpLoad %u8 %bAt
%signed = OpSConvert %u32 %byte
%number = OpConvertSToF %f32 %signed
%bits = OpBitcast %u32 %number
%wider = OpUConvert %u64 %bits
%sum = OpIAdd %u64 %wider %big
%double = OpConvertUToF %f64 %sum
%circle = OpFMul %f64 %double %pi
%isNan = OpIsNan %bool %number
%isBig = OpFUnordGreaterThan %bool %number %dot
%either = OpLogicalOr %bool %isNan %isBig
%chosen = OpSelect %f64 %either %circle %pi
%set = OpVectorInsertDynamic %vec4 %scaled %number %i
%narrow = OpFConvert %half4 %set
OpStore %hAt %narrow
%cAt = OpAccessChain %toDouble %c %c0 %i
OpStore %cAt %chosen
OpReturn
OpFunctionEnd
)";

/// The least, of the first version.
static const char oldest[] = R"(
OpCapability Shader
OpExtension "SPV_KHR_storage_buffer_storage_class"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 4 4 2
OpDecorate %words ArrayStride 4
OpDecorate %Words Block
OpMemberDecorate %Words 0 Offset 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 0
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%toVoid = OpTypeFunction %void
%c0 = OpConstant %u32 0
%words = OpTypeRuntimeArray %u32
%Words = OpTypeStruct %words
%toWords = OpTypePointer StorageBuffer %Words
%toWord = OpTypePointer StorageBuffer %u32
%out = OpVariable %toWords StorageBuffer
%main = OpFunction %void None %toVoid
%entry = OpLabel
%at = OpAccessChain %toWord %out %c0 %c0
OpStore %at %c0
OpReturn
OpFunctionEnd
)";

static const uint32_t sizes[] = {16, 8};

using artifact::SpirvFloat16;
using artifact::SpirvFloat64;
using artifact::SpirvInt64;
using artifact::SpirvInt8;
using artifact::SpirvStorageBuffer8;
using artifact::SpirvUniformAndStorageBuffer16;

// Words, bindings, written, push words, local size, shared bytes, features,
// constants.
const SpirvSample spirvSamples[numSpirvSamples] = {
    {"kernel",
     kernel,
     0x00010300,
     {nullptr, 0, 3, 4, 4, {64, 1, 1}, 1024, 0, nullptr, 0}},
    {"specialised",
     specialised,
     0x00010300,
     {nullptr, 0, 1, 1, 0, {16, 8, 1}, 68, 0, sizes, 2}},
    {"widths",
     widths,
     0x00010300,
     {nullptr,
      0,
      3,
      5,
      0,
      {1, 1, 1},
      0,
      SpirvInt8 | SpirvFloat16 | SpirvInt64 | SpirvFloat64 |
          SpirvStorageBuffer8 | SpirvUniformAndStorageBuffer16,
      nullptr,
      0}},
    {"oldest",
     oldest,
     0x00010000,
     {nullptr, 0, 1, 1, 0, {4, 4, 2}, 0, 0, nullptr, 0}}};

artifact::SpirvInterface
SpirvSample::with(const std::vector<uint32_t> &words) const {
  artifact::SpirvInterface interface = facts;
  interface.words = words.data();
  interface.numWords = words.size();
  return interface;
}

} // namespace nnv12::test
