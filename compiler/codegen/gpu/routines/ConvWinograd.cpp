//===- ConvWinograd.cpp - 3x3 convolution with fewer multiplications ------===//
//
// F(4x4, 3x3), as on CPUs and with weights in the same form, "winograd4":
//
//   U [O/16][tap 36][I][16 o]
//
// The plane is cut into windows of 4 x 4 outputs, which read 6 x 6 inputs. All
// windows of all images are one row of positions, as pixels are elsewhere.
//
//   1. V[tap][I/16][window][16 i] = Bt d B
//   2. M[tap][O/16][window][16 o] = V[tap] * U[tap], the product of
//      SharedProduct.h: the kernel is that of 1x1 convolutions
//   3. result = epilogue(At M A)
//
// There is a routine for each size of the product's squares: whichever kernels
// a model's other convolutions have, those that weights in form "winograd4" are
// left to need not bring one of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/Winograd.h"
#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/codegen/gpu/routines/SharedProduct.h"
#include "compiler/routines/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using llvm::divideCeil;

namespace nnv12::codegen {
namespace {

constexpr int64_t block = BlockedWindow::block, quads = BlockedWindow::quads;
constexpr int64_t side = 4; ///< outputs of a window

const Winograd &matrices() { return Winograd::of(side); }

/// The sizes of a layer in windows.
struct Windows {
  WindowShape w;
  int64_t rows, cols; ///< of an image
  int64_t inBlocks, outBlocks;

  explicit Windows(nn::ConvOp op)
      : w(op, shapeOf(op.getWeights()).drop_front(2)),
        rows(divideCeil(w.outHeight, side)), cols(divideCeil(w.outWidth, side)),
        inBlocks(BlockedWindow::blocksOf(w.channels)),
        outBlocks(BlockedWindow::blocksOf(w.outChannels)) {}

  int64_t count() const { return w.batch * rows * cols; }
  /// Bytes of V and M where they have so many blocks.
  int64_t bytes(int64_t blocks) const {
    return matrices().taps() * blocks * count() * block * 4;
  }
  int64_t formBytes() const {
    return outBlocks * matrices().taps() * w.channels * block * 4;
  }
  SharedProduct product() const {
    SharedProduct p;
    p.batch = matrices().taps();
    p.inBlocks = inBlocks, p.outBlocks = outBlocks;
    p.outChannels = outBlocks * block; // M is no layer's result
    p.outWidth = p.outPixels = p.inWidth = p.inPixels = count();
    p.weightBatch = inBlocks * block * quads;
    p.weightBlock = p.batch * p.weightBatch;
    return p;
  }
};

/// Push words of both transforms; height and width are the input's or the
/// result's.
enum Word : unsigned {
  Vectors, ///< four for each window; zero: nothing to do
  Count,   ///< of windows
  ImageWindows,
  Columns, ///< of windows of an image
  Blocks,  ///< of channels
  Channels,
  Height,
  Width,
  Top, ///< padding
  Left,
  WindowWords
};

class Transform {
public:
  Transform(GpuBuilder &k, ValueRange memories)
      : k(k), memories(memories), four(k.vec(4)) {}
  void input();
  void output(const Epilogue &epilogue);

private:
  Value word(unsigned w) { return k.pushWord(w); }
  Value add(Index x, Index y) { return k.val(k.add(x, y)); }
  Value mul(Index x, Index y) { return k.val(k.mul(x, y)); }
  /// Finds the window of an invocation and emits `body` where there is one.
  void forWindow(llvm::function_ref<void()> body);
  /// The first vector of a tap's windows, in V or M, at this one.
  Value tapPlace(int64_t tap) {
    Value plane = add(mul(tap, word(Blocks)), channels);
    return add(mul(add(mul(plane, word(Count)), window), quads), quad);
  }
  Value pixelPlace(Value y, Value x) {
    Value plane =
        mul(mul(add(mul(image, word(Blocks)), channels), word(Height)),
            word(Width));
    Value pixel = add(mul(y, word(Width)), x);
    return add(mul(add(plane, pixel), quads), quad);
  }
  Value isInside(Value y, Value x) {
    return arith::AndIOp::create(k.b, k.lessUnsigned(y, word(Height)),
                                 k.lessUnsigned(x, word(Width)));
  }

  GpuBuilder &k;
  ValueRange memories;
  VectorType four;
  Value quad, window, channels, image;
  Value row, col; ///< first pixel of the window
};

void Transform::forWindow(llvm::function_ref<void()> body) {
  using Dim = GpuBuilder::Dim;
  Value i =
      add(mul(k.groupId(Dim::X), FlatGrid::invocations), k.localId(Dim::X));
  channels = k.groupId(Dim::Y);
  k.ifThen(k.lessUnsigned(i, word(Vectors)), [&] {
    quad = k.val(k.rem(Index(i), quads));
    window = k.val(k.div(Index(i), quads));
    image = arith::DivUIOp::create(k.b, window, word(ImageWindows));
    Value inImage = arith::RemUIOp::create(k.b, window, word(ImageWindows));
    Value line = arith::DivUIOp::create(k.b, inImage, word(Columns)),
          column = arith::RemUIOp::create(k.b, inImage, word(Columns));
    row = k.val(k.sub(mul(line, side), word(Top)));
    col = k.val(k.sub(mul(column, side), word(Left)));
    body();
  });
}

void Transform::input() {
  forWindow([&] {
    Value zero = k.constant(0);
    emitTransform2D(
        k, matrices().input,
        [&](int64_t down, int64_t right) {
          // In front of the image, numbers are large unsigned ones.
          Value y = add(row, down), x = add(col, right);
          Value inside = isInside(y, x);
          auto orZero = [&](Value v) {
            return Value(arith::SelectOp::create(k.b, inside, v, zero));
          };
          Value value = k.load(memories[1], pixelPlace(orZero(y), orZero(x)));
          // SPIR-V 1.3 selects vectors by vectors.
          return Value(arith::SelectOp::create(k.b, k.broadcast(inside, 4),
                                               value, k.fconst(0, four)));
        },
        [&](int64_t down, int64_t right, Value x) {
          k.store(x, memories[0], tapPlace(down * matrices().t + right));
        });
  });
}

void Transform::output(const Epilogue &e) {
  PushEpilogue epilogue(k, e, WindowWords, memories[2], memories[3]);
  forWindow([&] {
    Value vector = add(mul(channels, quads), quad);
    Value bias = epilogue.start(vector);
    ChannelMask mask(k, mul(vector, 4), word(Channels));
    emitTransform2D(
        k, matrices().output,
        [&](int64_t down, int64_t right) {
          return k.load(memories[1], tapPlace(down * matrices().t + right));
        },
        [&](int64_t down, int64_t right, Value x) {
          Value atRow = add(row, down), atCol = add(col, right);
          k.ifThen(isInside(atRow, atCol), [&] {
            Value place = pixelPlace(atRow, atCol);
            Value sum = arith::AddFOp::create(k.b, x, bias);
            k.store(mask.apply(epilogue.finish(sum, place)), memories[0],
                    place);
          });
        });
  });
}

constexpr llvm::StringLiteral family = "gpu.conv.winograd4";

class WinogradRoutine : public GpuRoutine {
public:
  explicit WinogradRoutine(SharedProduct::Square square)
      : name_((family + "." + square.name()).str()) {
    product.square = square;
  }

  llvm::StringRef name() const override { return name_; }
  llvm::StringRef summary() const override {
    return "3x3 of stride 1 by F(4x4, 3x3)";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer,
                          panelTag(shapeOf(layer->getOperand(0)).size()));
  }
  std::optional<WeightForm> weightForm(Operation *layer) const override {
    return WeightForm{1, "winograd4",
                      Windows(cast<nn::ConvOp>(layer)).formBytes()};
  }
  Work work(Operation *layer) const override;
  std::string refusal(Operation *layer, const GpuTarget &target) const override;
  GpuSteps steps(Operation *layer) const override;
  void emit(GpuBuilder &k, Operation *layer, unsigned which,
            llvm::StringRef symbol) const override;

private:
  std::string name_;
  SharedProduct::Kernel product;
};

Work WinogradRoutine::work(Operation *layer) const {
  Windows g(cast<nn::ConvOp>(layer));
  double transforms =
      double(g.count() * block) *
      (double(g.inBlocks) * transformOperations(matrices().input) +
       double(g.outBlocks) * transformOperations(matrices().output));
  return {double(g.count()) * double(g.formBytes() / 4) + transforms,
          bytesOf(layer) +
              2 * double(g.bytes(g.inBlocks) + g.bytes(g.outBlocks))};
}

std::string WinogradRoutine::refusal(Operation *layer,
                                     const GpuTarget &target) const {
  constexpr int64_t fewestChannels = 32;
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || shapeOf(op.getInput()).size() != 4 || !isNonEmptyF32(op) ||
      op.getGroups() != 1 || !op.getWeights().getDefiningOp<nn::ConstantOp>())
    return "it is no convolution of f32 with two spatial dimensions, constant "
           "weights and one group";
  Windows g(op);
  const WindowShape &w = g.w;
  if (w.kernelRows != 3 || w.kernelCols != 3 || w.strideRows != 1 ||
      w.strideCols != 1 || w.dilationRows != 1 || w.dilationCols != 1)
    return "its window is not 3x3, of stride 1 and dense";
  if (w.channels % block || w.channels < fewestChannels ||
      w.outChannels < fewestChannels)
    return "it has few channels, or no whole blocks of 16";
  for (int64_t bytes :
       {g.bytes(g.inBlocks), g.bytes(g.outBlocks), g.formBytes()})
    if (bytes > GpuTarget::maxBufferBytes)
      return "a tensor is larger than the buffers of every device (128 MiB)";
  if (product.square.side > SharedProduct::small.side &&
      g.count() <= SharedProduct::small.side)
    return "large squares would be half empty";
  std::string reason = BlockedWindow::refusal(w);
  return reason.empty() ? refusalOfKernels(layer, target) : reason;
}

GpuSteps WinogradRoutine::steps(Operation *layer) const {
  using Kind = GpuStepOperand::Kind;
  Windows g(cast<nn::ConvOp>(layer));
  Epilogue epilogue = Epilogue::of(cast<nn::ConvOp>(layer));
  GpuSteps result;
  result.family = family.str();
  result.kernels = {(family + "_input").str(), product.key(),
                    (family + "_output").str() +
                        PushEpilogue::suffix(epilogue)};
  result.temporaries = {g.bytes(g.inBlocks), g.bytes(g.outBlocks)};
  auto transform = [&](unsigned kernel, int64_t channels, int64_t height,
                       int64_t width, int64_t top, int64_t left) {
    int64_t blocks = BlockedWindow::blocksOf(channels);
    GpuStep step;
    step.kernel = kernel;
    step.groups = FlatGrid::of(g.count() * quads);
    step.groups[1] = uint32_t(blocks);
    for (int64_t word : {g.count() * quads, g.count(), g.rows * g.cols, g.cols,
                         blocks, channels, height, width, top, left})
      step.push.push_back(uint32_t(word));
    step.grid.bytes = double(g.bytes(blocks)) +
                      double(g.w.batch * blocks * block * height * width * 4);
    return step;
  };
  const WindowShape &w = g.w;
  GpuStep input = transform(0, w.channels, w.height, w.width, w.top, w.left);
  input.operands = {{Kind::Temporary, 0}, {Kind::Operand, 0}};
  input.grid.multiplyAdds = double(g.count() * block * g.inBlocks) *
                            transformOperations(matrices().input);

  GpuStep middle = g.product().step(product);
  middle.kernel = 1;
  middle.variant = product.square.name();
  middle.operands = {
      {Kind::Temporary, 1}, {Kind::Temporary, 0}, {Kind::Operand, 1}};
  PushEpilogue::append(middle.operands, Epilogue());
  middle.grid.bytes =
      double(g.bytes(g.inBlocks) + g.bytes(g.outBlocks) + g.formBytes());

  GpuStep output = transform(2, w.outChannels, w.outHeight, w.outWidth, 0, 0);
  PushEpilogue::append(output.push, epilogue);
  output.operands = {{Kind::Result, 0}, {Kind::Temporary, 1}};
  PushEpilogue::append(output.operands, epilogue);
  output.grid.multiplyAdds = double(g.count() * block * g.outBlocks) *
                             transformOperations(matrices().output);
  result.steps = {input, middle, output};
  return result;
}

void WinogradRoutine::emit(GpuBuilder &k, Operation *layer, unsigned which,
                           llvm::StringRef symbol) const {
  auto op = cast<nn::ConvOp>(layer);
  if (which == 1)
    return product.emit(k, symbol);
  bool isInput = which == 0;
  // What is written, what is read; bias and residual of the result.
  SmallVector<GpuBuilder::Operand> operands(isInput ? 2 : 4, {k.vec(4)});
  operands.front().isWritten = true;
  k.kernel(symbol, operands,
           isInput ? WindowWords : WindowWords + PushEpilogue::Words,
           FlatGrid::localSize, [&](ValueRange memories) {
             Transform transform(k, memories);
             if (isInput)
               transform.input();
             else
               transform.output(Epilogue::of(op));
           });
}

} // namespace

const Routine *gpuConvWinogradRoutine(bool isLarge) {
  static const WinogradRoutine routines[] = {
      WinogradRoutine(SharedProduct::small),
      WinogradRoutine(SharedProduct::large)};
  return &routines[isLarge];
}

} // namespace nnv12::codegen
