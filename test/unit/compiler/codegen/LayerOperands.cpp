//===- LayerOperands.cpp - The layer of a text and its operands -----------===//

#include "LayerOperands.h"

#include "compiler/weights/Narrow.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

using namespace nnv12;
using namespace nnv12::test;
using mlir::RankedTensorType;
using plan::Narrowing;

static RankedTensorType tensorOf(mlir::Type type) {
  return llvm::cast<RankedTensorType>(type);
}

Bytes test::toBytes(const std::vector<float> &values) {
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> test::toFloats(const Bytes &bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

Bytes test::toHalf(const Bytes &floats) {
  Bytes halves;
  for (float x : toFloats(floats)) {
    llvm::APFloat half(x);
    bool inexact;
    half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                 &inexact);
    auto bits = uint16_t(half.bitcastToAPInt().getZExtValue());
    halves.insert(halves.end(), reinterpret_cast<char *>(&bits),
                  reinterpret_cast<char *>(&bits) + sizeof(bits));
  }
  return halves;
}

Bytes test::fromHalf(const Bytes &halves) {
  std::vector<float> floats;
  for (size_t i = 0; i < halves.size(); i += 2) {
    uint16_t bits;
    std::memcpy(&bits, &halves[i], sizeof(bits));
    floats.push_back(
        llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits))
            .convertToFloat());
  }
  return toBytes(floats);
}

std::vector<float> test::randomFloats(size_t count, unsigned seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 12345u;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = float(int32_t(state) >> 8) / 8388608.0f;
  }
  return values;
}

std::vector<float> test::narrowFloats(RankedTensorType packed,
                                      Narrowing narrowing) {
  unsigned axis = narrowGrid(packed, narrowing)->axis;
  std::mt19937 random(5);
  int64_t inner = 1;
  for (int64_t extent : packed.getShape().drop_front(axis + 1))
    inner *= extent;
  std::vector<float> values;
  for (int64_t i = 0; i < packed.getNumElements(); ++i) {
    int64_t channel = i / inner % packed.getDimSize(axis);
    if (narrowing == Narrowing::q8) {
      float scale = std::ldexp(1 + 0.0123f * float(channel % 50),
                               int(channel % 240) - 125);
      values.push_back(float(int(random() % 256) - 128) * scale);
      continue;
    }
    if (narrowing != Narrowing::f16) {
      double half = int(random() % 4096) - 2048;
      values.push_back(float(half * (0.01 + 0.0123 * double(channel % 50))));
      continue;
    }
    // Denormals among the halves, too, and both zeros.
    float value = std::ldexp(float(random() % 2048), -int(random() % 25));
    values.push_back(random() % 2 ? value : -value);
  }
  return values;
}

Bytes test::narrowedWeights(RankedTensorType packed, Narrowing narrowing,
                            const Bytes &dense) {
  mlir::OpBuilder builder(packed.getContext());
  mlir::Block block;
  builder.setInsertionPointToEnd(&block);
  mlir::Value constant =
      nn::ConstantOp::create(builder, builder.getUnknownLoc(), packed,
                             nn::makeConstant(nn::withLayout(packed, ""),
                                              {dense.data(), dense.size()}));
  auto narrow = narrowed(constant, narrowing);
  if (narrow)
    return *narrow;
  std::fprintf(stderr, "weights are not those of %s\n", plan::text(narrowing));
  std::exit(1);
}

std::string test::layerText(const std::string &layer,
                            const std::vector<std::string> &in,
                            const std::string &out) {
  std::string arguments, types;
  for (size_t i = 0; i < in.size(); ++i) {
    std::string comma = i ? ", " : "";
    arguments += comma + "%" + std::to_string(i) + ": " + in[i];
    types += comma + in[i];
  }
  return "func.func @main(" + arguments + ") -> " + out +
         " {\n  %r = " + layer + " : " + types + " -> " + out +
         "\n  return %r : " + out + "\n}\n";
}

mlir::Operation *test::findLayer(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (mlir::Operation &op : function.getBody().front())
      if (llvm::isa<nn::NNDialect>(op.getDialect()) &&
          !llvm::isa<nn::ConstantOp>(op))
        return &op;
  return nullptr;
}

void test::setLayouts(const Routine &routine, mlir::Operation *layer) {
  LayoutRequest request = routine.layouts(layer);
  auto set = [](mlir::Value value, const std::optional<std::string> &tag) {
    if (tag)
      value.setType(nn::withLayout(tensorOf(value.getType()), *tag));
  };
  for (auto [value, tag] : llvm::zip(layer->getOperands(), request.operands))
    set(value, tag);
  for (auto [value, tag] : llvm::zip(layer->getResults(), request.results))
    set(value, tag);
}

std::vector<Bytes> test::packOperands(mlir::Operation *layer,
                                      const std::vector<Bytes> &operands) {
  std::vector<Bytes> packed;
  for (auto [i, value] : llvm::enumerate(layer->getOperands())) {
    RankedTensorType type = tensorOf(value.getType());
    size_t dense =
        type.getNumElements() * nn::storageElementSize(type.getElementType());
    if (i >= operands.size() || operands[i].size() != dense) {
      std::fprintf(stderr, "operand %zu: %zu bytes expected\n", size_t(i),
                   dense);
      std::exit(1);
    }
    Bytes bytes(nn::storageSize(type));
    nn::pack(type, operands[i].data(), bytes.data());
    packed.push_back(std::move(bytes));
  }
  return packed;
}

/// Ends the program unless all elements are zero but those that `isData`.
static void checkPadding(mlir::Type element, const char *memory,
                         const std::vector<bool> &isData) {
  int64_t size = nn::storageElementSize(element);
  const std::vector<char> zeros(size);
  for (size_t i = 0; i < isData.size(); ++i) {
    const char *at = memory + int64_t(i) * size;
    float x = 0;
    if (element.isF32())
      std::memcpy(&x, at, sizeof(x)); // -0, too
    else if (std::memcmp(at, zeros.data(), size) != 0)
      x = 1;
    if (isData[i] || x == 0)
      continue;
    std::fprintf(stderr, "padding that is not zero\n");
    std::exit(1);
  }
}

Bytes test::unpackTensor(mlir::Value value, const char *memory) {
  RankedTensorType type = tensorOf(value.getType());
  int64_t element = nn::storageElementSize(type.getElementType());
  nn::Layout layout = nn::Layout::of(type);
  Bytes dense(type.getNumElements() * element);
  std::vector<bool> isData(layout.size());
  std::vector<int64_t> index(type.getRank(), 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t offset = layout.offset(index);
    isData[offset] = true;
    std::memcpy(&dense[i * element], memory + offset * element, element);
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      if (++index[d] < type.getDimSize(d))
        break;
      index[d] = 0;
    }
  }
  checkPadding(type.getElementType(), memory, isData);
  return dense;
}
