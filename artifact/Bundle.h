//===- Bundle.h - A bundle in memory, as plain structs ----------*- C++ -*-===//
//
// The compiler hands these structs to the writer. bundle.fbs says what each
// field means. A program has its target, its CPU and the memories of that as
// plain fields; the writer makes lists of them. Knows neither MLIR nor
// FlatBuffers.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_BUNDLE_H
#define NNV12_ARTIFACT_BUNDLE_H

#include "artifact/KernelFacts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nnv12::artifact {

/// Element types, in the order of bundle.fbs (ElementType).
enum class ElementType : uint8_t {
  F32,
  F64,
  F16,
  BF16,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  Bool,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0,
  F4E2M1,
  I4,
  U4,
  I2,
  U2
};

/// Bytes of one element: at least one. A Bool is 0 or 1; an element of fewer
/// than eight bits is in the lowest ones.
inline uint64_t elementSize(ElementType type) {
  static constexpr uint8_t sizes[] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8};
  auto index = static_cast<uint8_t>(type);
  return index < sizeof sizes ? sizes[index] : 1;
}

/// The writer adds the segments of overlays itself.
enum class SegmentKind : uint8_t { Code, Weights, Spirv, Overlays };

/// Bytes that go to a page-aligned place of the file. `data` is borrowed: it
/// must live until the writer returns. A segment may be given in pieces so that
/// no one has to copy all weights into one buffer: `pieces` are written one
/// after another, each padded with zeros to `pieceAlignment`.
struct Segment {
  struct Piece {
    const void *data;
    uint64_t size;
  };
  SegmentKind kind;
  std::vector<Piece> pieces;
  uint64_t pieceAlignment = 64;
};

struct Tensor {
  std::string name;
  ElementType type;
  std::vector<int64_t> shape;
};

/// A program's memories, each by a name of its own.
enum class Space : uint8_t { Arena, Weights, Input, Output, Prepared };

struct Operand {
  Space space;
  uint32_t index; ///< segment, input or output number; else 0
  uint64_t offset;
  uint64_t size;
};

enum class OperationKind : uint8_t { Execute, Read, Decode, Transform };
enum class Codec : uint8_t { Stored, Zstd };
enum class LaneKind : uint8_t { Execute, Prepare };
enum class CoreKind : uint8_t { Any, Big, Little };

/// Names an operation of a program: in the bundle its number, of executes and
/// preparations together.
struct OperationId {
  LaneKind kind;  ///< `index` counts executes or preparations
  uint32_t index; ///< behind the program's preparations: those of its GPU
};
inline bool operator==(OperationId a, OperationId b) {
  return a.kind == b.kind && a.index == b.index;
}

struct Operation {
  std::string layer;
  uint32_t kernel = 0;
  std::vector<Operand> operands; ///< written operands first
  uint64_t tiles = 0;
  OperationKind kind = OperationKind::Execute;
  std::vector<OperationId> after = {};
  Codec codec = Codec::Stored;
  uint8_t planes = 1;
  uint64_t predictedStart = 0; ///< nanoseconds of a first inference
  uint64_t predictedEnd = 0;   ///< both 0: unknown
  uint64_t tileBegin = 0;      ///< the first of `tiles` tiles
  bool lastReader = false;
  uint64_t liveArena = 0;
};

struct Lane {
  LaneKind kind;
  CoreKind core = CoreKind::Any;
  std::vector<OperationId> queue;
  std::vector<OperationId> background;
};

struct Switch {
  uint32_t operation; ///< execute
  Operation replacement;
};

struct TileAxis {
  uint64_t extent, stride; ///< elements
};
struct TileCut {
  uint32_t axis;
  uint64_t count, size;
};
struct TilePart {
  std::vector<uint64_t> lo, hi;
  std::vector<TileCut> cuts;
};
struct TileMap {
  std::vector<TileAxis> axes;
  std::vector<TilePart> parts;
};

struct Kernel {
  std::string name;
  uint32_t entry;
  uint32_t operands;
  uint32_t outputs;
  uint64_t scratch;
  uint64_t tiles = 0; ///< of the grid; 0: as many as an operation has
  std::string routine = {};
  uint64_t multiplyAdds = 0; ///< of the whole grid
  uint64_t bytes = 0;        ///< of the whole grid
  std::string key = {};
  std::vector<uint8_t> fingerprint = {}; ///< 32 bytes, or none
  std::vector<TileMap> maps = {};        ///< by written operand, or none
};

struct GpuExtent {
  uint32_t x = 1, y = 1, z = 1;
};

/// The writer finds its place in the segment, and its digest.
struct GpuModule {
  std::string name;
  uint32_t piece; ///< of segment Gpu::code: its words
};

struct GpuPipeline {
  uint32_t module;
  uint8_t bindings;
  uint32_t written; ///< a bit a binding
  uint8_t pushWords = 0;
  std::vector<uint32_t> constants = {};
  GpuExtent local = {}; ///< invocations of a workgroup
  uint32_t shared = 0;  ///< bytes
  uint64_t features = 0;
};

struct Gpu {
  uint32_t api = 1u << 22 | 1u << 12; ///< Vulkan 1.1
  uint32_t code = 0;                  ///< segment
  std::vector<GpuModule> modules;
  std::vector<GpuPipeline> pipelines;
};

enum class GpuSpace : uint8_t { Arena, Prepared, Boundary };

struct GpuOperand {
  GpuSpace space;
  uint32_t index; ///< boundary; else 0
  uint64_t offset;
  uint64_t size;
};

struct Boundary {
  Operand host;
  uint64_t device;
};

struct Rows {
  uint32_t boundary;
  uint64_t offset, bytes;
};

/// The first `bytes` of each of `count` strides.
struct Touched {
  uint8_t operand; ///< by binding
  uint64_t stride, bytes;
  uint32_t count;
};

struct Dispatch {
  uint32_t operation; ///< execute
  uint32_t pipeline;
  std::vector<GpuOperand> operands = {}; ///< by binding
  GpuExtent groups = {};
  std::vector<uint32_t> push = {};
  bool barrier = true;
  uint64_t predicted = 0; ///< nanoseconds
  /// In tuning bundles, where the time of this one is asked for.
  std::optional<KernelFacts> work = std::nullopt;
  std::vector<TileMap> maps = {};    ///< by written binding, or none
  std::vector<Touched> touched = {}; ///< by operand
};

enum class StretchKind : uint8_t { Whole, Split };

struct Stretch {
  uint32_t first, count; ///< executes
  std::vector<Dispatch> dispatches = {};
  std::vector<Rows> in = {}, out = {};
  std::vector<OperationId> after = {};
  bool cold = true;
  uint64_t predicted = 0; ///< nanoseconds
  StretchKind kind = StretchKind::Whole;
  std::vector<Operation> parts = {}; ///< of a Split: the CPUs', in order
  uint8_t dim = 0;                   ///< of a Split: the one that is divided
  uint32_t at = 0;                   ///< where the GPU's part ends
};

enum class GpuStage : uint8_t { Device, Pipeline, Upload, Record };

struct Upload {
  Operand source; ///< Weights or Prepared
  uint64_t offset, size;
  Codec codec = Codec::Stored;
  uint8_t planes = 1;
};

struct GpuPreparation {
  GpuStage stage;
  std::vector<uint32_t> pipelines = {};
  std::vector<Upload> uploads = {};
  uint32_t stretch = 0;
  std::vector<OperationId> after = {};
  uint64_t predictedStart = 0; ///< nanoseconds
  uint64_t predictedEnd = 0;   ///< both 0: unknown
};

enum class OverlayStart : uint8_t { AtOpen, AfterFirst };

struct ProgramGpu {
  uint64_t arenaSize = 0;
  uint64_t preparedSize = 0;
  std::vector<Boundary> boundaries;
  std::vector<GpuPreparation> preparations;
  std::vector<Lane> lanes;
  std::vector<Stretch> stretches;
  std::vector<uint32_t> warm;
  OverlayStart start = OverlayStart::AtOpen;
  std::string profile;
  uint64_t predictedCold = 0; ///< nanoseconds
  uint64_t predictedWarm = 0; ///< nanoseconds
};

/// In bytes.
struct PixelLayout {
  uint64_t row, column, pieces, distance, piece;
};

struct VideoWindow {
  uint32_t num = 1, den = 1;
  int32_t low = 0, high = 0;
};

struct VideoRead {
  uint32_t set;
  bool all;
  VideoWindow rows = {}, columns = {}; ///< unless `all`
};

struct VideoSet {
  uint32_t rows, columns;
  std::vector<VideoRead> reads = {};
};

struct VideoInput {
  uint32_t set;
  uint64_t place;
  PixelLayout pixels;
};

enum class VideoTiles : uint8_t { All, Rows, Cells, Runs };

struct VideoPart {
  static constexpr uint32_t ownKernel = ~uint32_t(0);
  VideoTiles tiles = VideoTiles::All;
  uint32_t rowAxis = 0, columnAxis = 0;
  uint32_t kernel = ownKernel; ///< of ProgramVideo::kernels
};

struct VideoCheck {
  uint64_t place;
  PixelLayout pixels;
};

struct VideoExecute {
  static constexpr uint64_t asInProgram = ~uint64_t(0);
  std::vector<uint64_t> places; ///< by operand
  uint32_t set;
  VideoPart part;
  std::optional<VideoCheck> check = {};
};

enum class VideoReuse : uint8_t { Exact, Bounded };

struct ProgramVideo {
  uint64_t arenaSize = 0;
  std::vector<Kernel> kernels;
  std::vector<VideoSet> sets;
  std::vector<VideoInput> inputs;
  std::vector<VideoExecute> executes;
  std::vector<VideoPart> switches;
  std::vector<uint64_t> outputs;
  VideoReuse reuse = VideoReuse::Exact;
  float tolerance = 0, inputTolerance = 0; ///< if bounded
  uint32_t refresh = 0;                    ///< if bounded
};

/// Programs of equal targets share one in the file.
struct Program {
  std::string target;
  std::string architecture;
  std::vector<std::string> features;
  uint32_t code;
  std::vector<Kernel> kernels;
  std::vector<Operation> operations; ///< executes
  uint64_t arenaSize = 0;
  std::vector<Operation> preparations; ///< reads, decodes, transforms
  std::vector<Lane> lanes;
  std::vector<Switch> switches;
  uint64_t preparedSize = 0;
  uint64_t predictedCold = 0; ///< nanoseconds
  uint64_t predictedWarm = 0; ///< nanoseconds
  std::string revision;
  std::string tune;
  std::optional<ProgramGpu> gpu = {};     ///< a GPU's part
  std::optional<ProgramVideo> video = {}; ///< reuse between frames
  bool laterWaits = false; ///< backgrounds begin behind the first result
};

enum class BundleKind : uint8_t { Model, Tuning };

struct Property {
  std::string key, value;
};

struct Bundle {
  std::string model;
  std::string producer;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Segment> segments;
  std::vector<Program> programs;
  uint32_t threads = 0; ///< of a session that is not told; 0: one a CPU
  BundleKind kind = BundleKind::Model;
  std::optional<Gpu> gpu = {};           ///< needed where a program has one
  std::vector<Property> properties = {}; ///< by key, without bytes of zero
};

/// The one signature of every kernel. `operands` points to as many addresses as
/// the kernel has operands, written ones first; tiles [begin, end) are
/// computed; `scratch` is private to the calling thread, 64-byte aligned, of
/// Kernel::scratch bytes.
/// The arena and the weights start at multiples of 64 bytes, so an operand
/// there is aligned as its offset is; the caller's inputs and outputs are
/// aligned to their element only. A kernel may use up to 256 KiB of stack.
/// Denormals are flushed to zero while it runs. The arena's first contents are
/// undefined.
using KernelFn = void (*)(void *const *operands, int64_t begin, int64_t end,
                          void *scratch);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_BUNDLE_H
