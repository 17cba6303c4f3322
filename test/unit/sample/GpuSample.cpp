//===- GpuSample.cpp - A sample bundle with an overlay for a GPU ----------===//
#include "test/unit/sample/GpuSample.h"

#include <initializer_list>

namespace nnv12::test {

using namespace artifact;

namespace {

/// Opcodes of SPIR-V that the modules need.
enum Opcode : uint32_t {
  OpMemoryModel = 14,
  OpEntryPoint = 15,
  OpExecutionMode = 16,
  OpCapability = 17,
  OpTypeVoid = 19,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypeVector = 23,
  OpTypeRuntimeArray = 29,
  OpTypeStruct = 30,
  OpTypePointer = 32,
  OpTypeFunction = 33,
  OpConstant = 43,
  OpFunction = 54,
  OpFunctionEnd = 56,
  OpVariable = 59,
  OpLoad = 61,
  OpStore = 62,
  OpAccessChain = 65,
  OpDecorate = 71,
  OpMemberDecorate = 72,
  OpCompositeExtract = 81,
  OpFAdd = 129,
  OpFMul = 133,
  OpLabel = 248,
  OpReturn = 253
};

enum Id : uint32_t {
  Main = 1,
  Invocation,
  Void,
  Function,
  Float,
  Unsigned,
  Vector,
  InputVector,
  Elements,
  Block,
  BlockPointer,
  FloatPointer,
  Zero,
  Label,
  Position,
  Index,
  FirstFree
};

/// A module of buffer 0 = buffer 1 `operation` buffer 2, or of buffer 0 =
/// buffer 1 without one: an element an invocation, 16 of them a workgroup.
/// Other buffers are there and not read.
class ModuleBuilder {
public:
  std::vector<uint32_t> build(const Opcode *operation, uint32_t buffers) {
    uint32_t next = FirstFree + buffers;
    words = {0x07230203, 0x00010300, 0, 0, 0};
    add(OpCapability, {1}); // Shader
    add(OpMemoryModel, {0, 1});
    constexpr uint32_t name[] = {0x6e69616d, 0}; // "main"
    add(OpEntryPoint, {5, Main, name[0], name[1], Invocation});
    add(OpExecutionMode, {Main, 17, tileSize, 1, 1}); // LocalSize
    add(OpDecorate, {Invocation, 11, 28}); // BuiltIn GlobalInvocationId
    add(OpDecorate, {Elements, 6, 4});     // ArrayStride
    add(OpDecorate, {Block, 2});
    add(OpMemberDecorate, {Block, 0, 35, 0}); // Offset
    for (uint32_t i = 0; i < buffers; ++i) {
      add(OpDecorate, {FirstFree + i, 34, 0}); // DescriptorSet
      add(OpDecorate, {FirstFree + i, 33, i}); // Binding
      if (i)
        add(OpDecorate, {FirstFree + i, 24}); // NonWritable
    }
    add(OpTypeVoid, {Void});
    add(OpTypeFunction, {Function, Void});
    add(OpTypeFloat, {Float, 32});
    add(OpTypeInt, {Unsigned, 32, 0});
    add(OpTypeVector, {Vector, Unsigned, 3});
    constexpr uint32_t input = 1, storageBuffer = 12;
    add(OpTypePointer, {InputVector, input, Vector});
    add(OpTypeRuntimeArray, {Elements, Float});
    add(OpTypeStruct, {Block, Elements});
    add(OpTypePointer, {BlockPointer, storageBuffer, Block});
    add(OpTypePointer, {FloatPointer, storageBuffer, Float});
    add(OpConstant, {Unsigned, Zero, 0});
    add(OpVariable, {InputVector, Invocation, input});
    for (uint32_t i = 0; i < buffers; ++i)
      add(OpVariable, {BlockPointer, FirstFree + i, storageBuffer});
    add(OpFunction, {Void, Main, 0, Function});
    add(OpLabel, {Label});
    add(OpLoad, {Vector, Position, Invocation});
    add(OpCompositeExtract, {Unsigned, Index, Position, 0});
    uint32_t value = 0;
    for (uint32_t i = 1; i < (operation ? 3u : 2u); ++i) {
      add(OpAccessChain, {FloatPointer, next, FirstFree + i, Zero, Index});
      add(OpLoad, {Float, next + 1, next});
      uint32_t loaded = next + 1;
      next += 2;
      if (i == 2) {
        add(*operation, {Float, next, value, loaded});
        loaded = next++;
      }
      value = loaded;
    }
    add(OpAccessChain, {FloatPointer, next, FirstFree, Zero, Index});
    add(OpStore, {next, value});
    add(OpReturn, {});
    add(OpFunctionEnd, {});
    words[3] = next + 1;
    return words;
  }

private:
  void add(Opcode opcode, std::initializer_list<uint32_t> operands) {
    words.push_back(uint32_t(operands.size() + 1) << 16 | opcode);
    words.insert(words.end(), operands);
  }

  std::vector<uint32_t> words;
};

constexpr uint64_t bytes = 256; ///< of each tensor

constexpr Opcode addition = OpFAdd, multiplication = OpFMul;

} // namespace

GpuSample::GpuSample(unsigned lanes) : PlannedSample(4, lanes, 2) {
  const Opcode *operations[] = {&addition, &multiplication, nullptr};
  static constexpr const char *names[] = {"sample_add", "sample_multiply",
                                          "sample_copy"};
  Segment code{SegmentKind::Spirv, {}};
  bundle.gpu.emplace();
  bundle.gpu->code = uint32_t(bundle.segments.size());
  for (uint32_t i = 0; i < 3; ++i) {
    modules[i] = ModuleBuilder().build(operations[i], operations[i] ? 3 : 2);
    code.pieces.push_back(
        {modules[i].data(), modules[i].size() * sizeof(uint32_t)});
    bundle.gpu->modules.push_back({names[i], i});
    GpuPipeline pipeline{i, uint8_t(operations[i] ? 3 : 2), /*written=*/1};
    pipeline.local.x = tileSize;
    bundle.gpu->pipelines.push_back(pipeline);
  }
  bundle.segments.push_back(code);
  for (Program &program : bundle.programs)
    addOverlay(program);
}

void GpuSample::bindMore(uint32_t buffers) {
  modules[0] = ModuleBuilder().build(&addition, buffers);
  bundle.segments[bundle.gpu->code].pieces[0] = {
      modules[0].data(), modules[0].size() * sizeof(uint32_t)};
  bundle.gpu->pipelines[0].bindings = uint8_t(buffers);
  for (Program &program : bundle.programs)
    for (Stretch &stretch : program.gpu->stretches)
      for (Dispatch &dispatch : stretch.dispatches)
        if (dispatch.pipeline == 0)
          dispatch.operands.resize(buffers, GpuOperand(dispatch.operands[2]));
}

void GpuSample::addOverlay(Program &program) {
  ProgramGpu &gpu = program.gpu.emplace();
  gpu.arenaSize = 5 * bytes;
  gpu.preparedSize = 3 * bytes;
  // The first and the last execute have the caller's buffers.
  Operand x = program.operations[0].operands[1],
          y = program.operations[4].operands[0],
          product = program.operations[4].operands[1];
  enum : uint32_t { X, Product, Y };
  gpu.boundaries = {{x, 0}, {product, bytes}, {y, 2 * bytes}};

  auto boundary = [](uint32_t index) {
    return GpuOperand{GpuSpace::Boundary, index, 0, bytes};
  };
  auto weights = [](uint64_t index) {
    return GpuOperand{GpuSpace::Prepared, 0, index * bytes, bytes};
  };
  GpuOperand sum{GpuSpace::Arena, 0, 3 * bytes, bytes},
      inside{GpuSpace::Arena, 0, 4 * bytes, bytes};
  auto dispatch = [](uint32_t execute, std::vector<GpuOperand> operands) {
    static constexpr uint32_t pipelines[] = {0, 1, 0, 1, 2};
    Dispatch result{
        execute, pipelines[execute], std::move(operands), {4, 1, 1}};
    result.predicted = 100;
    return result;
  };
  Stretch all{0,
              5,
              {dispatch(0, {sum, boundary(X), weights(0)}),
               dispatch(1, {inside, sum, weights(1)}),
               dispatch(2, {sum, inside, weights(0)}),
               dispatch(3, {inside, sum, weights(2)}),
               dispatch(4, {boundary(Y), inside})},
              {{X, 0, bytes}},
              {{Y, 0, bytes}},
              {id(RecordAll), id(UploadFirst), id(UploadSecond)}};
  Stretch begin{0,
                2,
                {dispatch(0, {sum, boundary(X), weights(0)}),
                 dispatch(1, {boundary(Product), sum, weights(1)})},
                {{X, 0, bytes}},
                {{Product, 0, bytes}},
                {id(RecordBegin), id(UploadFirst)}};
  Stretch rest{2,
               3,
               {dispatch(2, {sum, boundary(Product), weights(0)}),
                dispatch(3, {inside, sum, weights(2)}),
                dispatch(4, {boundary(Y), inside})},
               {{Product, 0, bytes}},
               {{Y, 0, bytes}},
               {id(RecordRest), id(UploadFirst), id(UploadSecond)}};
  all.cold = false;
  all.predicted = 600;
  begin.predicted = rest.predicted = 400;
  gpu.stretches = {all, begin, rest};
  gpu.warm = {1, 2};

  gpu.preparations.resize(8);
  for (uint32_t i = 0; i < 8; ++i) {
    GpuPreparation &preparation = gpu.preparations[i];
    preparation.predictedStart = 1000 * i;
    preparation.predictedEnd = 1000 * i + 1000;
    if (i != Device)
      preparation.after = {id(Device)};
  }
  auto also = [&](Preparation which, std::vector<OperationId> after) {
    for (OperationId before : after)
      gpu.preparations[which].after.push_back(before);
  };
  gpu.preparations[Device].stage = GpuStage::Device;
  for (Preparation which : {Arithmetic, Copy})
    gpu.preparations[which].stage = GpuStage::Pipeline;
  gpu.preparations[Arithmetic].pipelines = {0, 1};
  gpu.preparations[Copy].pipelines = {2};
  // The CPU's transforms, preparations 2 and 6, make b of each round.
  for (Preparation which : {UploadFirst, UploadSecond}) {
    uint32_t transform = which == UploadFirst ? 2 : 6;
    gpu.preparations[which].stage = GpuStage::Upload;
    gpu.preparations[which].uploads = {
        {program.preparations[transform].operands[0],
         (which == UploadFirst ? 1 : 2) * bytes, bytes}};
    also(which, {{LaneKind::Prepare, transform}});
  }
  gpu.preparations[UploadFirst].uploads.push_back(
      {program.operations[0].operands[2], 0, bytes});
  for (Preparation which : {RecordAll, RecordBegin, RecordRest}) {
    gpu.preparations[which].stage = GpuStage::Record;
    gpu.preparations[which].stretch = which - RecordAll;
    also(which, {id(Arithmetic)});
    if (which != RecordBegin)
      also(which, {id(Copy)});
  }
  auto lane = [](std::vector<Preparation> list) {
    Lane result;
    result.kind = LaneKind::Prepare;
    for (Preparation which : list)
      result.queue.push_back(id(which));
    return result;
  };
  gpu.lanes = {lane({Device, Arithmetic, RecordBegin, RecordAll}),
               lane({UploadFirst, Copy, UploadSecond, RecordRest})};
  gpu.start = OverlayStart::AfterFirst;
  gpu.profile = "sample";
  gpu.predictedCold = 1500;
  gpu.predictedWarm = 800;
}

} // namespace nnv12::test
