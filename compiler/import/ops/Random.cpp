//===- Random.cpp - Random numbers ----------------------------------------===//
//
// A bundle's results are reproducible, so it draws no numbers. The user
// replaces them by zeros or by inputs of the bundle.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/ImportOptions.h"
#include "compiler/import/Onnx.h"
#include "compiler/import/OpTable.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// The type that attribute dtype names.
static Type drawnType(Node &n, Type absent) {
  int64_t given = n.intAttr("dtype", 0);
  if (n.failed() || given == 0)
    return absent;
  Type type = elementType(given, n.context());
  return type ? type
              : Type(n.refuse("dtype " + dataTypeName(given),
                              typeSetNames(kAny)));
}

static void draw(Node &n, ArrayRef<int64_t> shape, Type element) {
  if (n.failed())
    return;
  RankedTensorType type = n.type(shape, element);
  if (!type)
    return;
  switch (n.graph().options().random) {
  case RandomNumbers::Refused:
    return n.fail("random numbers, which no bundle draws",
                  "--random zero, or --random input to give them");
  case RandomNumbers::Zero:
    return n.out(n.splat(shape, element, 0));
  case RandomNumbers::Input:
    return n.out(n.graph().addInput(n.proto().output(0), type));
  }
}

static void drawOfShape(Node &n) {
  draw(n, n.intsAttr("shape"), drawnType(n, n.f32()));
}

static void drawLike(Node &n) {
  Value x = n.in(0);
  draw(n, n.shape(x), drawnType(n, n.elem(x)));
}

OpRows importer::randomOps() {
  static constexpr const char *note = "with --random";
  static const OpRow rows[] = {
      {"Bernoulli", 15, kFloats, drawLike, note},
      {"RandomNormal", 1, 0, drawOfShape, note},
      {"RandomNormalLike", 1, kAll, drawLike, note},
      {"RandomUniform", 1, 0, drawOfShape, note},
      {"RandomUniformLike", 1, kAll, drawLike, note},
  };
  return rows;
}
