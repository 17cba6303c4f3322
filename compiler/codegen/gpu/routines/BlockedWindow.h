//===- BlockedWindow.h - Windows over blocks of 16 channels -----*- C++ -*-===//
//
// The parts of kernels whose tensors lie as "aBcd16b": an invocation computes
// four channels, a quarter of a block, of four pixels of the result; four
// neighbours make whole blocks, 64 bytes that follow each other in memory.
// Extents are push words, so that a few modules serve all layers of a model.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_BLOCKEDWINDOW_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_BLOCKEDWINDOW_H

#include "compiler/codegen/gpu/GpuStep.h"
#include "compiler/codegen/gpu/routines/GpuEmitter.h"
#include "compiler/codegen/gpu/routines/WindowFront.h"
#include "compiler/routines/Layouts.h"

namespace nnv12::codegen {

/// Which of four neighbouring channels a tensor has, or whether it has one.
/// Blocks are filled up with others, which are zero whatever a layer computes:
/// their readers multiply them by weights of zero.
class ChannelMask {
public:
  /// `lanes`: four, or one for a scalar.
  ChannelMask(GpuBuilder &k, Value first, Value channels, int64_t lanes = 4);
  /// x with zeros in lanes that are no channels.
  Value apply(Value x) const;

private:
  GpuBuilder &k;
  Value isChannel;
};

/// Vectors of four channels in a block.
constexpr int64_t quads = block / 4;

/// The memory of a tensor: images, blocks of channels, pixels, channels.
TileMap blockedMemory(int64_t batch, int64_t blocks, int64_t pixels);
/// The memory of a result, of which the front is to be computed.
TileMap blockedMemory(const WindowFront &w);

class BlockedWindow : protected GpuEmitter {
public:
  static constexpr int64_t pixels = 4;       ///< of an invocation
  static constexpr int64_t groupPixels = 64; ///< of a work group
  static constexpr std::array<int32_t, 3> localSize = {
      groupPixels * quads / pixels, 1, 1};

  /// The push words, in the order of dispatch(); a kernel without a window
  /// knows the first ones only.
  enum Word : unsigned {
    OutPixels, ///< of a channel that are computed; zero: nothing to do
    OutPlane,  ///< from channel to channel of the result
    InPixels,
    GroupInBlocks, ///< blocks of channels that a result sums over
    GroupOutBlocks,
    InBlocks,
    OutBlocks,
    OutChannels,
    FlatWords,
    OutWidth = FlatWords,
    InHeight,
    InWidth,
    KernelRows,
    KernelCols,
    StrideRows,
    StrideCols,
    DilationRows,
    DilationCols,
    Top,
    Left,
    WindowWords
  };
  static constexpr unsigned allWords = WindowWords;

  /// The part of a result that an invocation computes.
  enum class Part {
    Quad, ///< four channels of four pixels
    Pixel ///< all channels of one pixel, the only one of `pixel`; no `quad`
  };

  static int64_t blocksOf(int64_t channels) {
    return (channels + block - 1) / block;
  }
  /// GpuRoutine::cutUnit(): images, blocks of one image's channels, or rows of
  /// each plane.
  static int64_t cutUnit(Operation *layer, unsigned dim);
  /// The grid of a layer's front, and its first push words.
  static GpuDispatch dispatch(const WindowFront &w, int64_t groups,
                              Part part = Part::Quad,
                              unsigned words = WindowWords);
  /// Why its tensors, with so many weights a tap, or its grid are too large; or
  /// empty.
  static std::string refusal(const WindowShape &w, int64_t weights = 0);
  /// Work groups for so many pixels, as long as they take where a CPU computes
  /// eight invocations at once: the last one may have few.
  static double groupsInTurn(int64_t pixels, Part part = Part::Quad);
  /// Steps of a group that loops over the taps of so many blocks.
  static double stepsInTurn(double blocks, double taps) {
    return blocks * (taps + 1);
  }
  static double taps(const WindowShape &w) {
    return double(w.kernelRows * w.kernelCols);
  }
  /// As Work has it, of one block of the result's channels, where the sums go
  /// over so many blocks of the input's.
  static double stepsInTurn(const WindowShape &w, double blocks,
                            Part part = Part::Quad) {
    return groupsInTurn(w.outHeight * w.outWidth, part) * double(w.batch) *
           stepsInTurn(blocks, taps(w));
  }

  explicit BlockedWindow(GpuBuilder &k) : GpuEmitter(k), four(k.vec(4)) {}
  virtual ~BlockedWindow() = default;

protected:
  /// A value for each pixel; in windows, some are no pixels of the input.
  using Four = SmallVector<Value, pixels>;
  using TapBody = function_ref<Values(Value tap, const Four &rows,
                                      const Four &cols, ValueRange carried)>;

  /// Finds the invocation's place, and emits `body` for those that have one.
  void forPlace(function_ref<void()> body, Part part = Part::Quad);
  /// The same where the invocations number `count` pixels, and the caller finds
  /// the batch.
  void forPixels(Value count, function_ref<void()> body, Part part);
  /// A loop over the window's taps. `body` gets the number of the tap, and
  /// where each pixel reads: its row and column in the input, which are large
  /// unsigned numbers in the padding in front.
  virtual Values forTaps(const Values &init, TapBody body);
  /// Whether the pixels are in the input, and which of a channel's they are (0
  /// for those that are not).
  void placesOf(const Four &rows, const Four &cols, Four &inside, Four &place);
  /// First vectors of the pixels in a channel block of the input.
  Four vectorsIn(Value plane, const Four &place);
  /// Adds the products of one block of input channels at one tap. `from` are
  /// the pixels' first vectors, `inside` whether they are in the input (empty:
  /// all are), `weight` the first vector of the block's weights in the
  /// invocation's quarter.
  Values addBlock(ValueRange sums, Value input, const Four &from,
                  const Four &inside, Value weights, Value weight);
  /// Adds those of one block at all taps: `plane` is the block's in the input,
  /// `firstTap` the first one's in the weights.
  Values addTaps(ValueRange sums, Value input, Value plane, Value weights,
                 Value firstTap);
  /// Stores the vector that `body` gives for each pixel that is there: it gets
  /// the vector's place in the result. Lanes that are no channels become zeros.
  void storeResults(Value output,
                    function_ref<Value(int64_t i, Value place)> body);

  VectorType four;

  // The invocation's place, from forPlace() on.
  Value quad, outBlock, batch;
  Four pixel;     ///< of those that are numbered, clamped to the last one
  Four isPresent; ///< whether there is such a pixel

private:
  Value resultPlace(int64_t i);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_BLOCKEDWINDOW_H
