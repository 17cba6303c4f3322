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
// In 1 and 3 a work group has one window of one block of channels: an
// invocation for each channel of a column, and then of a row. Were there one
// for the window, it would be code and a register for each of its 36 numbers,
// and drivers would take longer for that than for the rest of a network.
//
// There is a routine for each size of the product's squares: whichever kernels
// a model's other convolutions have, those that weights in form "winograd4" are
// left to need not bring one of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/Winograd.h"
#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/SharedProduct.h"
#include "compiler/codegen/gpu/routines/SumRoutine.h"

#include <cassert>

using namespace mlir;
using llvm::divideCeil;

namespace nnv12::codegen {
namespace {

constexpr int64_t side = 4; ///< outputs of a window

const Winograd &matrices() { return Winograd::of(side); }

/// The sizes of a layer's front in windows, whose rows are all in it.
struct Windows {
  WindowFront w;
  int64_t rows, cols; ///< of an image
  int64_t inBlocks, outBlocks;

  explicit Windows(nn::ConvOp op) : Windows(op, wholeCut(op)) {}
  Windows(nn::ConvOp op, Cut cut)
      : w(op, cut), rows(divideCeil(w.outHeight, side)),
        cols(divideCeil(w.outWidth, side)),
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

class Transform : GpuEmitter {
public:
  /// Push words of both transforms; height and width are the input's or the
  /// result's.
  enum Word : unsigned {
    Count, ///< of windows; zero: nothing to do
    Rows,  ///< of windows of an image
    Columns,
    Blocks, ///< of channels
    Channels,
    Height,
    Width,
    Top, ///< padding
    Left,
    Words
  };

  Transform(GpuBuilder &k, ValueRange memories)
      : GpuEmitter(k), memories(memories) {}
  void input();
  void output(const Epilogue &epilogue);

  static std::array<int32_t, 3> localSize() {
    return {int32_t(matrices().t * block), 1, 1};
  }
  /// A group for each window of so many blocks, of which the result has
  /// `wholeBlocks`.
  static GpuDispatch dispatch(const Windows &g, int64_t blocks,
                              int64_t wholeBlocks) {
    // V or M would be larger than a buffer.
    assert(g.count() * blocks <= GpuTarget::maxGroups && "one dimension does");
    int64_t row = g.w.outWidth * block;
    TileMap memory =
        TileMap::grid({{g.w.wholeBatch * wholeBlocks, g.w.outPlane() * block},
                       {g.w.wholeHeight, row},
                       {g.w.outWidth, block},
                       {block, 1}});
    memory.parts[0].box.hi = {g.w.batch * blocks, g.w.outHeight, g.w.outWidth,
                              block};
    return GpuDispatch::over(std::move(memory), {side, side, 1});
  }
  /// V, of which a group writes all taps of a window.
  static TileMap inputMap(const Windows &g) {
    int64_t windows = g.rows * g.cols;
    TileMap map =
        TileMap::grid({{matrices().taps(), g.inBlocks * g.count() * block},
                       {g.inBlocks, g.count() * block},
                       {g.w.batch, windows * block},
                       {windows, block},
                       {block, 1}});
    map.shareOut({2, 1, 3}, 1);
    return map;
  }

private:
  void findPlace();
  /// Columns of the window, then rows: `load` is asked for the elements of
  /// column `line`. Where `isStored`, `store` gets those of row `line`.
  void transform(const Matrix &matrix, llvm::function_ref<Value(int64_t)> load,
                 Value isStored,
                 llvm::function_ref<void(const Values &)> store) {
    // Two neighbouring rows read from different banks at once.
    const int64_t rowStep = (matrix.cols + 1) * block;
    Value half = k.shared(matrix.rows * rowStep, k.b.getF32Type());
    auto place = [&](Index i, Index j) {
      return k.add(k.add(k.mul(i, rowStep), k.mul(j, block)), channel);
    };
    Values column;
    for (int64_t i = 0; i < matrix.cols; ++i)
      column.push_back(load(i));
    for (auto [i, x] : llvm::enumerate(emitTransform1D(k, matrix, column)))
      k.store(x, half, place(int64_t(i), line));
    k.barrier();
    k.ifThen(isStored, [&] {
      Values values;
      for (int64_t j = 0; j < matrix.cols; ++j)
        values.push_back(k.load(half, place(line, j)));
      store(emitTransform1D(k, matrix, values));
    });
  }

  /// Where the number of a tap is, in V or M.
  Value tapPlace(Index tap) { return add(firstTap, mul(tap, tapStep)); }
  Value pixelPlace(Value y, Value x) {
    Value pixel = add(mul(add(mul(plane, word(Height)), y), word(Width)), x);
    return add(mul(pixel, block), channel);
  }

  ValueRange memories;
  Value channel; ///< in the block
  Value line;    ///< a column of the window, then a row
  Value window, channels;
  Value plane; ///< of the tensor: a block of channels of an image
  Value firstTap, tapStep;
  Value row, col; ///< first pixel of the window
};

void Transform::findPlace() {
  channel = rem(k.localId(Dim::X), block);
  line = div(k.localId(Dim::X), block);
  Value across = k.groupId(Dim::X), down = k.groupId(Dim::Y);
  plane = k.groupId(Dim::Z);
  Value blocks = atLeastOne(Blocks);
  Value image = div(plane, blocks);
  channels = rem(plane, blocks);
  window = add(mul(add(mul(image, word(Rows)), down), word(Columns)), across);
  firstTap = add(mul(add(mul(channels, word(Count)), window), block), channel);
  tapStep = mul(mul(word(Blocks), word(Count)), block);
  row = sub(mul(down, side), word(Top));
  col = sub(mul(across, side), word(Left));
}

void Transform::input() {
  findPlace();
  const int64_t t = matrices().t;
  // In front of the image, numbers are large unsigned ones.
  Value x = add(col, line), isInRow = k.lessUnsigned(x, word(Width));
  transform(
      matrices().input,
      [&](int64_t down) {
        Value y = add(row, down);
        Value isInside = both(k.lessUnsigned(y, word(Height)), isInRow);
        Value place = select(isInside, pixelPlace(y, x), k.constant(0));
        Value value = k.load(memories[1], place);
        return select(isInside, value, k.fconst(0, value.getType()));
      },
      k.lessUnsigned(window, word(Count)),
      [&](const Values &values) {
        for (auto [right, value] : llvm::enumerate(values))
          k.store(value, memories[0],
                  tapPlace(k.add(k.mul(line, t), int64_t(right))));
      });
}

void Transform::output(const Epilogue &e) {
  PushEpilogue epilogue(k, e, Words, memories);
  findPlace();
  Value y = add(row, line);
  transform(
      matrices().output,
      [&](int64_t down) {
        return k.load(memories[1], tapPlace(k.add(line, down * matrices().t)));
      },
      both(k.lessUnsigned(line, k.constant(side)),
           k.lessUnsigned(y, word(Height))),
      [&](const Values &values) {
        Value number = add(mul(channels, block), channel);
        Value bias = epilogue.start(number);
        ChannelMask mask(k, number, word(Channels), /*lanes=*/1);
        k.forEach(values, [&](Value right, Value value) {
          Value x = add(col, right);
          k.ifThen(k.lessUnsigned(x, word(Width)), [&] {
            Value place = pixelPlace(y, x);
            Value sum = arith::AddFOp::create(k.b, value, bias);
            k.store(mask.apply(epilogue.finish(sum, place)), memories[0],
                    place);
          });
        });
      });
}

constexpr llvm::StringLiteral family = "gpu.conv.winograd4";

class WinogradRoutine : public SumRoutine {
public:
  explicit WinogradRoutine(SharedProduct::Square square)
      : SumRoutine(family + "." + square.name(),
                   "3x3 of stride 1 by F(4x4, 3x3)") {
    product.square = square;
  }

  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer, panelTag);
  }
  std::optional<WeightForm> weightForm(Operation *layer) const override {
    return WeightForm{1, "winograd4",
                      Windows(cast<nn::ConvOp>(layer)).formBytes()};
  }
  Work work(Operation *layer) const override {
    Windows g(cast<nn::ConvOp>(layer));
    double transforms =
        double(g.count() * block) *
        (double(g.inBlocks) * transformOperations(matrices().input) +
         double(g.outBlocks) * transformOperations(matrices().output));
    return {double(g.count()) * double(g.formBytes() / 4) + transforms,
            bytesOf(layer) +
                2 * double(g.bytes(g.inBlocks) + g.bytes(g.outBlocks))};
  }

  std::string misfit(Operation *layer) const override {
    constexpr int64_t fewestChannels = 32;
    if (std::string reason = winogradMisfit(layer); !reason.empty())
      return reason;
    Windows g(cast<nn::ConvOp>(layer));
    const WindowShape &w = g.w;
    if (w.channels % block || w.channels < fewestChannels ||
        w.outChannels < fewestChannels)
      return "it has few channels, or no whole blocks of 16";
    for (int64_t bytes :
         {g.bytes(g.inBlocks), g.bytes(g.outBlocks), g.formBytes()})
      if (bytes > GpuTarget::maxBufferBytes)
        return GpuTarget::tooLarge;
    if (product.square.side > SharedProduct::small.side &&
        g.count() <= SharedProduct::small.side)
      return "large squares would be half empty";
    return BlockedWindow::refusal(w);
  }

  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    // A part of a window would be rounded otherwise.
    return dim == 2 ? side : BlockedWindow::cutUnit(layer, dim);
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned which) const override {
    if (which == 1)
      return product.emit(k);
    Type f32 = k.b.getF32Type();
    if (which == 0)
      return k.kernel(
          {f32, f32}, Transform::Words, Transform::localSize(),
          [&](ValueRange memories) { Transform(k, memories).input(); });
    // The result, M, bias and residual.
    k.kernel({f32, f32, f32, f32}, Transform::Words + PushEpilogue::Words,
             Transform::localSize(), [&](ValueRange memories) {
               Transform(k, memories).output(epilogueOf(layer));
             });
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override;

private:
  SharedProduct::Kernel product;
};

GpuSteps WinogradRoutine::stepsOf(Operation *layer, Cut cut) const {
  using Kind = GpuStepOperand::Kind;
  Windows g(cast<nn::ConvOp>(layer), cut);
  Epilogue epilogue = epilogueOf(layer);
  GpuSteps result;
  result.family = family.str();
  result.kernels = {(family + "_input").str(), product.key(),
                    (family + "_output").str() +
                        PushEpilogue::suffix(epilogue)};
  result.temporaries = {g.bytes(g.inBlocks), g.bytes(g.outBlocks)};
  auto transform = [&](unsigned kernel, int64_t channels, int64_t wholeChannels,
                       int64_t height, int64_t width, int64_t top,
                       int64_t left) {
    int64_t blocks = BlockedWindow::blocksOf(channels);
    GpuStep step = {
        Transform::dispatch(g, blocks, BlockedWindow::blocksOf(wholeChannels))};
    step.kernel = kernel;
    step.append({g.count(), g.rows, g.cols, blocks, channels, height, width,
                 top, left});
    step.grid.barriers = 1;
    double share = double(g.w.outHeight) / double(g.w.wholeHeight);
    step.grid.bytes =
        double(g.bytes(blocks)) +
        share * double(g.w.batch * blocks * block * height * width * 4);
    return step;
  };
  const WindowFront &w = g.w;
  GpuStep input =
      transform(0, w.channels, w.channels, w.height, w.width, w.top, w.left);
  input.maps = {Transform::inputMap(g)};
  input.operands = {{Kind::Temporary, 0}, {Kind::Operand, 0}};
  input.grid.multiplyAdds = double(g.count() * block * g.inBlocks) *
                            transformOperations(matrices().input);

  SharedProduct p = g.product();
  GpuStep middle = p.step(product, p.result());
  middle.kernel = 1;
  middle.variant = product.square.name();
  middle.operands = {
      {Kind::Temporary, 1}, {Kind::Temporary, 0}, {Kind::Operand, 1}};
  PushEpilogue::append(middle.operands, Epilogue());
  middle.grid.bytes =
      double(g.bytes(g.inBlocks) + g.bytes(g.outBlocks) + g.formBytes());

  GpuStep output = transform(2, w.outChannels, w.wholeChannels, w.wholeHeight,
                             w.outWidth, 0, 0);
  PushEpilogue::append(output.push, epilogue);
  output.operands = {{Kind::Result, 0}, {Kind::Temporary, 1}};
  PushEpilogue::append(output.operands, epilogue);
  output.grid.multiplyAdds = double(g.count() * block * g.outBlocks) *
                             transformOperations(matrices().output);
  result.steps = {input, middle, output};
  return result;
}

} // namespace

const Routine *gpuConvWinogradRoutine(SquareSize size) {
  static const WinogradRoutine routines[] = {
      WinogradRoutine(SharedProduct::small),
      WinogradRoutine(SharedProduct::large)};
  return &routines[unsigned(size)];
}

} // namespace nnv12::codegen
