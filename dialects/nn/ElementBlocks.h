//===- ElementBlocks.h - Element by element over constants ------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_ELEMENTBLOCKS_H
#define NNV12_DIALECTS_NN_ELEMENTBLOCKS_H

#include "dialects/nn/ConstantEval.h"
#include "dialects/nn/StridedLoop.h"

#include <algorithm>
#include <array>

namespace nnv12::nn {

/// Elements computed at a time: small enough to stay in the first cache level.
constexpr int64_t blockElements = 512;

/// 64-bit values of one block of one operand.
union ElementBlock {
  std::array<double, blockElements> floats;
  std::array<int64_t, blockElements> ints;
};

/// Walks the result in blocks: loads every operand's elements as doubles or
/// integers, calls `compute(blocks, n)`, which leaves the result in the first
/// block, and stores it.
template <typename Compute>
mlir::ElementsAttr evalBlocks(llvm::ArrayRef<const ConstantData *> operands,
                              mlir::RankedTensorType type, bool asFloat,
                              bool storesFloat, Compute compute,
                              Growth growth = Growth::limited) {
  type = withLayout(type, "");
  const ElementCodec *codec = ElementCodec::get(type.getElementType());
  if (!codec)
    return {};
  bool splat = type.getNumElements() > 0;
  for (const ConstantData *operand : operands)
    splat &= operand->isSplat() || operand->type().getNumElements() == 1;
  if (!splat && !reserveResult(type, operands, growth))
    return {};

  llvm::SmallVector<int64_t> shape;
  if (!splat)
    shape.assign(type.getShape().begin(), type.getShape().end());
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides;
  for (const ConstantData *operand : operands)
    strides.push_back(operand->isSplat() || splat
                          ? llvm::SmallVector<int64_t>(shape.size(), 0)
                          : broadcastStrides(operand->shape(), shape));
  strides.push_back(denseStrides(shape));
  llvm::SmallVector<llvm::ArrayRef<int64_t>> strideRefs(strides.begin(),
                                                        strides.end());
  StridedLoop loop(shape, strideRefs);

  llvm::SmallVector<ElementBlock, 3> blocks(operands.size());
  auto fill = [&](llvm::MutableArrayRef<char> result) {
    loop.forEachRow([&](llvm::ArrayRef<int64_t> offsets) {
      for (int64_t begin = 0; begin < loop.rowLength();
           begin += blockElements) {
        int64_t n = std::min(blockElements, loop.rowLength() - begin);
        for (auto [i, operand] : llvm::enumerate(operands)) {
          const ElementCodec &from = operand->codec();
          int64_t stride = loop.rowStride(i);
          const char *source = operand->stored().data() +
                               (offsets[i] + begin * stride) * from.size;
          if (asFloat)
            from.loadDouble(source, stride, n, blocks[i].floats.data());
          else
            from.loadInt(source, stride, n, blocks[i].ints.data());
        }
        compute(llvm::MutableArrayRef<ElementBlock>(blocks), n);
        char *target = result.data() + (offsets.back() + begin) * codec->size;
        if (storesFloat)
          codec->storeDouble(blocks[0].floats.data(), n, target);
        else
          codec->storeInt(blocks[0].ints.data(), n, target);
      }
    });
  };
  if (!splat)
    return makeConstant(type, fill);
  alignas(8) std::array<char, 8> element;
  fill(element);
  return makeSplatOf(type, element.data());
}

template <typename Compute>
mlir::ElementsAttr evalBlocks(llvm::ArrayRef<const ConstantData *> operands,
                              mlir::RankedTensorType type, bool asFloat,
                              Compute compute) {
  return evalBlocks(operands, type, asFloat, asFloat, std::move(compute));
}

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_ELEMENTBLOCKS_H
