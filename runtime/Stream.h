//===- Stream.h - Reuse between the frames of a session ---------*- C++ -*-===//
//
// The program's executes at other places of memory, where all values of the
// last frame stay. A frame compares its inputs with those that the values were
// computed from, follows the sets of the bundle's overlay for video from layer
// to layer, and computes the tiles with pixels that may differ.
//
// A bounded stream also keeps values that would differ little. At a check point
// a frame computes the result elsewhere, and takes over the pixels that differ
// by more than a part of the values' size. Frames that compute all measure
// that size.
//
// The session's own memory is left alone: the first frame, and any other, can
// be a run without all this; see runtime/video/StreamPace.h. Such a run may
// keep its inputs and outputs, which answer copies. Values are kept once an
// input differs a little from these.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_STREAM_H
#define NNV12_RUNTIME_STREAM_H

#include "runtime/LoadedBundle.h"
#include "runtime/Workers.h"
#include "runtime/system/Structs.h"
#include "runtime/video/DirtySet.h"
#include "runtime/video/StreamPace.h"

namespace nnv12::runtime {

#if NNV12_VIDEO
class Stream : artifact::NonCopyable {
public:
  /// Reads and checks the overlay of the bundle's program. False, with a fault,
  /// where it has none, or one for less than the options ask for, or memory is
  /// short.
  [[nodiscard]] bool create(const LoadedBundle &bundle,
                            const nnv12_stream_options &options,
                            artifact::Fault &fault);
  bool isOn() const { return video_ != nullptr; }
  /// The scratch memory that its kernels want of each thread.
  uint64_t scratchSize() const { return scratch_; }

  /// Takes over the session's steps, as they are now. The next frame computes
  /// all: others may round in another way.
  void adopt(const Array<Step> &steps);
  /// The next frame computes all, as the first one does.
  void forget();

  /// Notes a hint about the next run. Hints add up.
  [[nodiscard]] bool hint(const nnv12_stream_hint &hint,
                          artifact::Fault &fault);
  /// To be called after each run.
  void forgetHints();

  /// Whether the next run shall be a frame of the stream. False: it is a run
  /// without. To be asked once before each.
  bool takesNext();
  /// Whether the next frame is to be computed with reuse first, and then all
  /// of it.
  bool auditsNext() const {
    return audits_ && kept_ == Kept::Values && pace_.isRefreshDue();
  }

  // For each frame: begin, stepOf and finish for each execute in order if some
  // are to be computed, end. Or begin and leave. Where a frame ends early, the
  // next one begins anew.

  enum class Frame : uint8_t {
    Same, ///< nothing changed: no execute has anything to compute
    Computed,
    Left ///< a run without the stream takes less time: too much changed, or
         ///< that is not known yet
  };
  /// Looks for changes of the inputs. `isAudit`: the same frame comes again
  /// behind this one, to be computed as if this had not been.
  Frame begin(const CallersBuffers &callers, Workers &workers, bool isAudit);
  /// The tiles of an execute that are to be computed; none where nothing
  /// changed. Its list of tiles is good until the next call.
  Step stepOf(uint32_t execute);
  /// How many tiles there are of those that stepOf() lists a part of.
  uint64_t tilesOf(uint32_t execute) const { return parts_[execute].tiles; }
  /// Ends an execute that computed tiles: merges or measures its result.
  void finish(uint32_t execute, Workers &workers);
  /// Copies the outputs.
  void end(const CallersBuffers &callers);
  /// Ends a frame that was left, by a run without the stream: keeps its
  /// outputs.
  void leave(const CallersBuffers &callers);

  void tell(nnv12_stream_info &info) const;

  // Between runs, for people: see StreamPixels.cpp.

  /// The rows and columns of an execute's result, or of an input.
  VideoPlane planeOf(bool isInput, uint32_t number) const {
    return sets_[setOf(isInput, number)].plane();
  }
  /// Sets a byte for each of its pixels: whether the last run computed it, or
  /// found it changed. False, with a fault, where memory is short.
  [[nodiscard]] bool tellPixels(bool isInput, uint32_t number, uint8_t *pixels,
                                artifact::Fault &fault);

private:
  /// The rectangles of pixels that tiles of a kernel compute, or runs of
  /// pixels.
  struct Grid {
    bundle::VideoTiles tiles = bundle::VideoTiles_All;
    uint32_t rowSize = 1, rowCount = 1, columnSize = 1, columnCount = 1;
    /// Tiles from one to the next along rows, and along columns.
    uint64_t rowStride = 1, columnStride = 1;
  };
  /// An execute at its places.
  struct Part {
    Step whole;
    artifact::KernelFn kernel; ///< for single tiles
    uint64_t tiles;            ///< of this kernel
    Grid grid;
    uint64_t work;         ///< multiply-adds of all, at least 1
    bool isInTail;         ///< the result is in the program's memory
    uint32_t switchNumber; ///< of the program's; none: ~0
    /// Operands, the result at the place of its check point; null: there is
    /// none.
    void **checked;
    float limit; ///< of that check point
  };
  /// An input of the program.
  struct Input {
    DirtySet clean; ///< pixels that hints name
    float limit;    ///< of its cells
  };

  [[nodiscard]] bool load(artifact::Fault &fault);
  [[nodiscard]] bool allocate(artifact::Fault &fault);
  bool isChecked(const bundle::VideoExecute *execute) const;
  const bundle::Kernel *kernelOf(const bundle::VideoPart *how,
                                 const bundle::Operation *operation) const;
  void choosePart(Part &part, const bundle::VideoPart *how,
                  const bundle::Operation *operation) const;
  static Grid gridOf(const bundle::VideoPart *how, const bundle::TileMap *map);
  bool match(uint32_t number, const void *given, Workers &workers);
  void takeInputs(const CallersBuffers &callers);
  Frame beginWhole(const CallersBuffers &callers);
  bool changedMuch() const;
  void addChanges() {
    changed_ += changedNow_;
    pixels_ += pixelsNow_;
  }
  uint32_t setOf(bool isInput, uint32_t number) const {
    return isInput ? video_->inputs()->Get(number)->set()
                   : video_->executes()->Get(number)->set();
  }
  void addReads(DirtySet &set, uint32_t number) const;
  void measureInput(uint32_t number, const nnv12_input &given);
  void computeSets(uint32_t end);
  uint32_t listTiles(const Part &part, const DirtySet &set);
  /// Where so many tiles are dirty, all are computed: small tiles take longer,
  /// and jump about.
  static bool areMost(uint64_t tiles, const Part &part) {
    return tiles >= part.tiles - part.tiles / 4;
  }

  const LoadedBundle *bundle_ = nullptr;
  const bundle::ProgramVideo *video_ = nullptr;
  Pages overlayCopy_; ///< where the metadata was copied
  Pages pages_;       ///< the arena, then the words of sets
  uint64_t scratch_ = 0;
  uint64_t memory_ = 0; ///< bytes

  Array<void *> operands_;
  Array<Part> parts_;
  Array<DirtySet> sets_;
  Array<uint32_t> tiles_;      ///< of the step that was asked for last
  Array<uint32_t> rectangles_; ///< the dirty ones of its grid
  Array<uint8_t> marks_;       ///< by rectangle: whether it is dirty
  Array<Input> inputs_;
  Array<double> rowSums_; ///< of the result that is measured

  bool isBounded_ = false;
  float tolerance_ = 0, inputTolerance_ = 0; ///< if bounded
  bool audits_ = false;
  StreamPace pace_;
  bool hasHints_ = false;
  /// The part of the last run that is in the arena.
  enum class Kept : uint8_t {
    Nothing,
    Answer, ///< its inputs and outputs
    Values  ///< and all between them
  };
  Kept kept_ = Kept::Nothing;
  bool isReused_ = false; ///< the last run computed a part, or nothing
  bool isWhole_ = true;   ///< this frame computes all
  bool measures_ = false; ///< and the size of values
  bool merges_ = false;   ///< the step that was asked for last has a check
  bool isAudit_ = false;  ///< this frame comes again
  bool isCompared_ =
      false;              ///< it came before, and its outputs are the caller's
  uint32_t computed_ = 0; ///< sets of this frame so far
  uint64_t work_ = 0, allWork_ = 0;         ///< multiply-adds of this frame
  uint64_t tailWork_ = 0;                   ///< of the layers behind all cells
  uint64_t changedNow_ = 0, pixelsNow_ = 0; ///< of its inputs
  // For people: changes of frames that compared inputs, and the work of those
  // that reused values.
  uint64_t frames_ = 0, wholeFrames_ = 0, runs_ = 0;
  uint64_t changed_ = 0, pixels_ = 0, totalWork_ = 0, totalAllWork_ = 0;
  uint64_t numAudits_ = 0;
  double auditError_ = 0;
};
#else
/// This library is built without reuse.
class Stream {
public:
  [[nodiscard]] bool create(const LoadedBundle &, const nnv12_stream_options &,
                            artifact::Fault &fault) {
    return fault.set(artifact::Fault::Unsupported,
                     "stream: this library is built without reuse between "
                     "frames");
  }
  static bool isOn() { return false; }
  static uint64_t scratchSize() { return 0; }
  void adopt(const Array<Step> &) {}
  void forget() {}
  static bool hint(const nnv12_stream_hint &, artifact::Fault &) {
    return false;
  }
  void forgetHints() {}
  static bool takesNext() { return false; }
  static bool auditsNext() { return false; }
  enum class Frame : uint8_t { Same, Computed, Left };
  static Frame begin(const CallersBuffers &, Workers &, bool) {
    return Frame::Same;
  }
  static Step stepOf(uint32_t) { return {}; }
  static uint64_t tilesOf(uint32_t) { return 0; }
  void finish(uint32_t, Workers &) {}
  void end(const CallersBuffers &) {}
  void leave(const CallersBuffers &) {}
  void tell(nnv12_stream_info &) const {}
  static VideoPlane planeOf(bool, uint32_t) { return {}; }
  [[nodiscard]] static bool tellPixels(bool, uint32_t, uint8_t *,
                                       artifact::Fault &) {
    return true;
  }
};
#endif

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_STREAM_H
