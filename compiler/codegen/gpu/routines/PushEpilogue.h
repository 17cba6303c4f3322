//===- PushEpilogue.h - The layers behind a sum, as data --------*- C++ -*-===//
//
// Layers differ most in the operations behind their sums. Push words name
// these, so that layers share kernels: whether there are a bias and a residual,
// and between which numbers each activation keeps its values (relu and clip;
// none: all numbers). Other activations are code, and part of the kernel's key.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_PUSHEPILOGUE_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_PUSHEPILOGUE_H

#include "compiler/codegen/common/Epilogue.h"
#include "compiler/codegen/gpu/GpuBuilder.h"
#include "compiler/codegen/gpu/GpuStep.h"
#include "compiler/codegen/gpu/KernelNeeds.h"

namespace nnv12::codegen {

class PushEpilogue {
public:
  /// Behind the kernel's own push words.
  enum Word : unsigned { Parts, Low, High, ThenLow, ThenHigh, Words };

  /// The end of a kernel's key.
  static std::string suffix(const Epilogue &epilogue);
  /// The needs of the functions that are code.
  static KernelNeeds needs(const Epilogue &epilogue);
  /// Appends the words of a layer.
  static void append(std::vector<uint32_t> &push, const Epilogue &epilogue);
  /// Appends the bindings of bias and residual of a layer whose operands are
  /// input, weights, bias, residual. An absent one is bound to the weights,
  /// which are always there, and never read.
  static void append(std::vector<GpuStepOperand> &operands,
                     const Epilogue &epilogue);

  /// `first` is the number of its first word. Bias and residual are the last
  /// two of the kernel's memories.
  PushEpilogue(GpuBuilder &k, const Epilogue &epilogue, unsigned first,
               ValueRange memories)
      : k(k), epilogue(epilogue), first(first),
        bias(memories.drop_back().back()), residual(memories.back()) {}

  /// The start of a sum: the element of the bias, or zero.
  Value start(Index place);
  /// The result of a sum: `place` is the residual's.
  Value finish(Value sum, Index place);

private:
  Value has(unsigned part);
  Value activate(nn::FunctionAttr function, Value x, unsigned low);

  GpuBuilder &k;
  const Epilogue epilogue;
  unsigned first;
  Value bias, residual;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_PUSHEPILOGUE_H
