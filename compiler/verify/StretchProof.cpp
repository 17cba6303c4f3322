//===- StretchProof.cpp - Proves that a GPU computes its layers -----------===//

#include "compiler/verify/StretchProof.h"

#include "compiler/emit/OverlayEmitter.h"
#include "compiler/verify/SplitProof.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nnv12;
using artifact::GpuSpace;
using artifact::Operand;
using artifact::Space;
using codegen::GpuStep;
using codegen::GpuStepOperand;
using Kind = GpuStepOperand::Kind;

static std::string placeText(const artifact::GpuOperand &operand) {
  std::string memory = operand.space == GpuSpace::Arena ? "the GPU's arena"
                       : operand.space == GpuSpace::Prepared
                           ? "the GPU's prepared memory"
                           : "boundary " + std::to_string(operand.index);
  return llvm::formatv("{0} [{1}, {2})", memory, operand.offset,
                       operand.offset + operand.size);
}

/// Whether two bindings of a layer's steps have bytes of a memory in common.
static bool shareBytes(const GpuStepOperand &a, const GpuStepOperand &b) {
  if (a.kind != b.kind || a.index != b.index)
    return false;
  if (!a.size || !b.size)
    return true;
  for (int64_t i = 0; i < a.pieces; ++i)
    for (int64_t j = 0; j < b.pieces; ++j) {
      int64_t begin = a.offset + i * a.distance,
              other = b.offset + j * b.distance;
      if (begin < other + b.size && other < begin + a.size)
        return true;
    }
  return false;
}

namespace {

/// The steps of a layer by a routine, with their kernels.
struct LayerSteps {
  codegen::GpuSteps steps;
  SmallVector<codegen::HalfKernel> halves; ///< by GpuStep::kernel
  SmallVector<unsigned> kernels;           ///< of the code, the same
};

/// How a stretch computes a layer.
struct Way {
  const Routine *routine = nullptr;
  codegen::HalfTensors half = {};
  std::optional<Cut> cut = std::nullopt; ///< where its front ends
  const LayerSteps *made = nullptr;
  unsigned taken = 0; ///< steps that dispatches have done
  /// The contents that steps have left in temporaries and results.
  std::map<std::pair<Kind, unsigned>, MemoryImage> left = {};

  const GpuStep &step() const { return made->steps.steps[taken]; }
};
using Ways = llvm::DenseMap<Operation *, Way>;

/// The memory that a stretch works in.
struct Device {
  bool shares; ///< the CPU's arena
  MemoryImage arena, host;
};

struct Place {
  MemoryImage *memory;
  uint64_t begin, end;

  Runs read() const { return memory->read(begin, end); }
  bool overlaps(const Place &other) const {
    return memory == other.memory && begin < other.end && other.begin < end;
  }
};

/// Bytes that a step binds.
struct Binding {
  uint64_t begin, size; ///< in the tensor or temporary, as the GPU has it
  Runs before;          ///< the contents that must be there
  std::optional<Content> after; ///< the content that the step writes
  MemoryImage *left = nullptr;  ///< of Way, of a temporary or a result
  /// The bytes that it touches: `piece` of them, `pieces` times.
  uint64_t piece = size, distance = 0, pieces = 1;

  /// Calls `visit(begin, end)` for each piece, in bytes of the binding, until
  /// it fails.
  LogicalResult
  forPieces(llvm::function_ref<LogicalResult(uint64_t, uint64_t)> visit) const {
    for (uint64_t i = 0; i < pieces; ++i)
      if (failed(visit(i * distance, i * distance + piece)))
        return failure();
    return success();
  }
};

/// A stretch or a dispatch while it is looked at, as messages name it.
struct StretchSubject {
  Location location;
  unsigned stretch;
  std::optional<unsigned> dispatch = std::nullopt;
  const artifact::Dispatch *content = nullptr;

  InFlightDiagnostic fault() const {
    InFlightDiagnostic result = ProgramImage::fault(location);
    result << "stretch " << stretch << ": ";
    if (dispatch)
      result << "dispatch " << *dispatch << ": ";
    return result;
  }
  InFlightDiagnostic fault(unsigned operand) const {
    return fault() << "operand " << operand << ": "
                   << placeText(content->operands[operand]) << ": ";
  }
};

class Follower : public StretchProof {
public:
  explicit Follower(ProgramImage &image)
      : image(image), claim(*image.claim.gpu), gpu(*image.program.gpu),
        planned(plan::GpuOp(claim.plan).stretches()) {}

  LogicalResult begin() override {
    for (auto [p, preparation] : llvm::enumerate(gpu.preparations)) {
      llvm::BitVector done(image.program.preparations.size());
      image.waitFor(preparation.after, done);
      for (auto [i, one] : llvm::enumerate(preparation.uploads)) {
        auto fault = [&, p = p, i = i] {
          return ProgramImage::fault(image.claim.main->getLoc())
                 << "preparation " << p << " of the GPU: upload " << i << ": ";
        };
        if (failed(upload(one, done, fault)))
          return failure();
      }
    }
    size_t executes = image.claim.layers.size();
    for (auto [i, stretch] : llvm::enumerate(gpu.stretches))
      if (i >= planned.size() || stretch.first >= executes ||
          stretch.count > executes - stretch.first ||
          !isCutAs(planned[i], stretch))
        return ProgramImage::fault(image.claim.main->getLoc())
               << "stretch " << i << ": expected one of " << planned.size()
               << ", of " << executes << " executes, split as in the plan";
    return success();
  }

  LogicalResult reach(size_t execute) override {
    for (const HandedBack &rows : handedBack) {
      if (rows.end != execute)
        continue;
      auto fault = [&] {
        return ProgramImage::fault(image.claim.main->getLoc())
               << "stretch " << rows.stretch << ": out " << rows.row << ": ";
      };
      if (failed(image.expect(rows.contents, image.read(rows.host),
                              rows.host.size, rows.host.offset, fault)))
        return failure();
    }
    llvm::erase_if(handedBack,
                   [&](const HandedBack &rows) { return rows.end == execute; });
    auto endsHere = [&](const std::unique_ptr<SplitImage> &split) {
      const artifact::Stretch &stretch = split->claim.stretch;
      return stretch.first + stretch.count == execute;
    };
    for (const std::unique_ptr<SplitImage> &split : splits)
      if (endsHere(split) && failed(split->expectLive()))
        return failure();
    llvm::erase_if(splits, endsHere);
    for (auto [i, stretch] : llvm::enumerate(gpu.stretches))
      if (stretch.first == execute && (failed(follow(i, /*shares=*/false)) ||
                                       failed(follow(i, /*shares=*/true))))
        return failure();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Uploads
  //===--------------------------------------------------------------------===//

  /// `done`: the program's preparations that have finished before.
  LogicalResult upload(const artifact::Upload &upload,
                       const llvm::BitVector &done, ProgramImage::Fault fault) {
    const Operand &source = upload.source;
    if (source.space != Space::Weights && source.space != Space::Prepared)
      return fault() << "expected weights or prepared memory";
    if (failed(image.checkWaited(source, done, fault)))
      return failure();
    if (upload.codec == artifact::Codec::Stored) {
      if (source.size != upload.size || upload.planes != 1)
        return fault() << "found " << upload.size << " bytes in "
                       << unsigned(upload.planes) << " planes, expected the "
                       << source.size << " of its source, in one";
      Runs contents;
      for (Run run : image.read(source)) {
        run.content = image.values.nearest(run.content);
        append(contents, run);
      }
      prepared.write(upload.offset, contents);
      return success();
    }
    std::optional<Content> found = image.contentOf(source);
    if (!found)
      return fault() << "expected one frame";
    FailureOr<Content> content = image.decoded(
        *found, source, upload.size, upload.codec, upload.planes, fault);
    if (failed(content))
      return failure();
    prepared.write(upload.offset, upload.offset + upload.size,
                   image.values.nearest(*content));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Stretches
  //===--------------------------------------------------------------------===//

  /// People read the dimension and the position.
  static bool isCutAs(plan::StretchOp op, const artifact::Stretch &stretch) {
    bool isSplit = stretch.kind == artifact::StretchKind::Split;
    return op.getDim().has_value() == isSplit &&
           op.getDim().value_or(0) == stretch.dim &&
           op.getAt().value_or(0) == stretch.at;
  }

  /// The layers of a stretch, and how the plan says that it computes them.
  FailureOr<Ways> waysOf(const StretchSubject &subject) {
    Ways claimed, ways;
    for (auto op :
         planned[subject.stretch].getBody().getOps<plan::DispatchOp>()) {
      const Routine *routine = codegen::gpuRoutines().named(op.getRoutine());
      if (routine && op.getLayer() < claim.layers.size())
        claimed[claim.layers[op.getLayer()]] = {
            routine, {uint64_t(op.getHalf().value_or(0))}, cutOf(op)};
    }
    const artifact::Stretch &stretch = gpu.stretches[subject.stretch];
    for (uint32_t i = 0; i < stretch.count; ++i) {
      Operation *layer = image.claim.layers[stretch.first + i];
      Way way = claimed.lookup(layer);
      if (!way.routine)
        return subject.fault() << "execute " << stretch.first + i
                               << ": expected a layer that the plan has in it";
      FailureOr<const LayerSteps *> made = stepsOf(layer, way, subject);
      if (failed(made))
        return failure();
      way.made = *made;
      ways[layer] = std::move(way);
    }
    return ways;
  }

  FailureOr<const LayerSteps *> stepsOf(Operation *layer, const Way &way,
                                        const StretchSubject &subject) {
    auto [it, isNew] = known.try_emplace(
        std::tuple(layer, way.routine, way.half.bits,
                   way.cut ? way.cut->dim : 0, way.cut ? way.cut->at : 0));
    LayerSteps &made = it->second;
    if (!isNew)
      return &made;
    const auto &routine = codegen::GpuRoutine::of(*way.routine);
    made.steps = codegen::stepsInHalf(way.cut ? routine.front(layer, *way.cut)
                                              : routine.steps(layer),
                                      layer, routine, way.half, made.halves);
    for (const std::string &key : made.steps.kernels) {
      std::optional<unsigned> kernel = claim.code.kernelOf(key);
      if (!kernel)
        return subject.fault()
               << "found no kernel '" << key << "', expected it for '"
               << layer->getName() << "'";
      made.kernels.push_back(*kernel);
    }
    return &made;
  }

  LogicalResult follow(unsigned number, bool shares) {
    const artifact::Stretch &stretch = gpu.stretches[number];
    StretchSubject subject = {image.claim.layers[stretch.first]->getLoc(),
                              number};
    FailureOr<Ways> ways = waysOf(subject);
    if (failed(ways))
      return failure();
    Device device = {shares, {}, {}};
    if (shares)
      device.host = image.of({Space::Arena, 0, 0, 0});
    // Calls `visit(row, host, place)` for the rows of a hand-over.
    auto forEach = [&](const char *what,
                       const std::vector<artifact::Rows> &list,
                       auto visit) -> LogicalResult {
      for (auto [i, rows] : llvm::enumerate(list)) {
        std::optional<Place> place = placeOf(
            {GpuSpace::Boundary, rows.boundary, rows.offset, rows.bytes},
            device);
        if (!place)
          return subject.fault()
                 << what << " " << i << ": found boundary " << rows.boundary
                 << ", expected one of " << gpu.boundaries.size();
        Operand host = gpu.boundaries[rows.boundary].host;
        host.offset += rows.offset;
        host.size = rows.bytes;
        visit(i, host, *place);
      }
      return success();
    };
    auto copyIn = [&](size_t, const Operand &host, const Place &place) {
      if (place.memory != &device.host)
        place.memory->write(place.begin, image.read(host));
    };
    if (failed(forEach("in", stretch.in, copyIn)))
      return failure();
    for (auto [i, dispatch] : llvm::enumerate(stretch.dispatches)) {
      subject.dispatch = i;
      subject.content = &dispatch;
      if (dispatch.operation - stretch.first >= stretch.count)
        return subject.fault() << "found execute " << dispatch.operation
                               << ", expected one of the stretch";
      Operation *layer = image.claim.layers[dispatch.operation];
      subject.location = layer->getLoc();
      if (failed(follow(subject, layer, (*ways)[layer], device)))
        return failure();
    }
    subject.dispatch.reset();
    for (uint32_t i = 0; i < stretch.count; ++i) {
      const Way &way = (*ways)[image.claim.layers[stretch.first + i]];
      if (way.taken != way.made->steps.steps.size())
        return subject.fault()
               << "execute " << stretch.first + i << ": found " << way.taken
               << " dispatches, expected " << way.made->steps.steps.size();
    }
    size_t known = handedBack.size();
    auto handBack = [&](size_t row, const Operand &host, const Place &place) {
      handedBack.push_back({stretch.first + stretch.count, number,
                            unsigned(row), host, place.read()});
    };
    if (failed(forEach("out", stretch.out, handBack)))
      return failure();
    if (stretch.kind != artifact::StretchKind::Split)
      return success();
    ArrayRef<HandedBack> out = ArrayRef(handedBack).drop_front(known);
    SplitClaim claimed = {stretch, number, planned[number], claim.layers};
    auto split = std::make_unique<SplitImage>(image, claimed);
    for (const HandedBack &rows : out)
      split->leaveToGpu(rows.host);
    if (failed(split->follow()))
      return failure();
    for (const HandedBack &rows : out)
      split->takeBack(rows.host, rows.contents);
    splits.push_back(std::move(split));
    return success();
  }

  /// The place of an operand in a device's memory. None: there is no such
  /// boundary.
  std::optional<Place> placeOf(const artifact::GpuOperand &operand,
                               Device &device) {
    MemoryImage *memory = &device.arena;
    uint64_t begin = operand.offset;
    if (operand.space == GpuSpace::Prepared) {
      memory = &prepared;
    } else if (operand.space == GpuSpace::Boundary) {
      if (operand.index >= gpu.boundaries.size())
        return std::nullopt;
      const artifact::Boundary &boundary = gpu.boundaries[operand.index];
      bool isShared = device.shares && boundary.host.space == Space::Arena;
      if (isShared)
        memory = &device.host;
      begin += isShared ? boundary.host.offset : boundary.device;
    }
    return Place{memory, begin, begin + operand.size};
  }

  //===--------------------------------------------------------------------===//
  // Dispatches
  //===--------------------------------------------------------------------===//

  /// A dispatch is the next step of its layer.
  LogicalResult follow(const StretchSubject &subject, Operation *layer,
                       Way &way, Device &device) {
    const artifact::Dispatch &dispatch = *subject.content;
    if (way.taken == way.made->steps.steps.size())
      return subject.fault() << "expected no more than " << way.taken
                             << " dispatches of its layer";
    const GpuStep &step = way.step();
    uint32_t pipeline = claim.code.pipelineOf(way.made->kernels[step.kernel]);
    if (dispatch.pipeline != pipeline)
      return subject.fault() << "found pipeline " << dispatch.pipeline
                             << ", expected " << pipeline << " of kernel '"
                             << way.made->steps.kernels[step.kernel] << "'";
    const artifact::GpuExtent &groups = dispatch.groups;
    if (std::array<uint32_t, 3>{groups.x, groups.y, groups.z} != step.groups ||
        dispatch.push != step.push)
      return subject.fault()
             << "found other groups or push words than those of "
             << "step " << way.taken << " of '" << way.routine->name() << "'";
    size_t count = step.operands.size() + moduleOf(way, step).tables.size();
    if (dispatch.operands.size() != count)
      return subject.fault() << "found " << dispatch.operands.size()
                             << " operands, expected " << count;
    SmallVector<Place> places;
    SmallVector<Binding> bindings;
    for (unsigned k = 0; k < count; ++k) {
      std::optional<Place> place = placeOf(dispatch.operands[k], device);
      if (!place)
        return subject.fault(k)
               << "expected one of " << gpu.boundaries.size() << " boundaries";
      FailureOr<Binding> binding = bind(subject, layer, way, k);
      if (failed(binding) || failed(check(subject, k, *binding, *place)))
        return failure();
      places.push_back(*place);
      bindings.push_back(std::move(*binding));
    }
    for (unsigned k = 0; k < count; ++k) {
      const Binding &binding = bindings[k];
      if (!binding.after)
        continue;
      for (unsigned other = 0; other < count; ++other)
        if (other != k && places[k].overlaps(places[other]))
          return subject.fault(k) << "expected no bytes of operand " << other;
      (void)binding.forPieces([&](uint64_t begin, uint64_t end) {
        Content content = {binding.after->id, binding.after->offset + begin};
        places[k].memory->write(places[k].begin + begin, places[k].begin + end,
                                content);
        binding.left->write(binding.begin + begin, binding.begin + end,
                            content);
        return success();
      });
    }
    ++way.taken;
    return success();
  }

  /// The bytes that the next step of a layer has as binding `number`.
  FailureOr<Binding> bind(const StretchSubject &subject, Operation *layer,
                          Way &way, unsigned number) {
    const GpuStep &step = way.step();
    const codegen::SpirvModule &module = moduleOf(way, step);
    Values &values = image.values;
    if (number >= step.operands.size()) {
      const std::vector<char> &table =
          module.tables[number - step.operands.size()];
      uint64_t size = table.size();
      StringRef bytes(table.data(), size);
      return Binding{0, size, {{0, size, values.table(bytes)}}, std::nullopt};
    }
    const GpuStepOperand &operand = step.operands[number];
    bool isWritten = module.written >> number & 1,
         isOperand = operand.kind == Kind::Operand, isHalf = false;
    if (isWritten && isOperand)
      return subject.fault(number)
             << "found a write to an operand of the layer";
    ProgramImage::Contents whole = {};
    if (operand.kind == Kind::Temporary) {
      whole.size = way.made->steps.temporaries[operand.index];
    } else {
      Value tensor = isOperand ? layer->getOperand(operand.index)
                               : Value(layer->getResult(operand.index));
      whole.size = nn::storageSize(tensor);
      if (isOperand) {
        auto contents =
            image.contentsFor(layer->getOpOperand(operand.index), *way.routine);
        if (!contents)
          return subject.fault(number) << "expected weights";
        whole = std::move(*contents);
      }
      // A stand-in for a missing tensor keeps the form that it has elsewhere.
      codegen::HalfTensors self =
          isOperand ? codegen::HalfTensors::operand(layer, operand.index)
                    : codegen::HalfTensors::result(operand.index);
      isHalf = operand.use == GpuStepOperand::Use::Data
                   ? way.made->halves[step.kernel].half >> number & 1
                   : way.half.has(self);
      if (isHalf && !nn::typeOf(tensor).getElementType().isF32())
        return subject.fault(number)
               << "found " << tensor.getType() << " in f16, expected f32";
    }
    uint64_t divisor = isHalf ? 2 : 1;
    Binding result;
    result.begin = operand.offset / divisor;
    result.piece = (operand.size ? operand.size : whole.size) / divisor;
    result.pieces = operand.pieces;
    result.distance = operand.distance / divisor;
    result.size = result.distance * (result.pieces - 1) + result.piece;
    uint64_t end = result.begin + result.size;
    if (isOperand) {
      result.before = cut(isHalf ? values.halves(whole.runs) : whole.runs,
                          result.begin, end);
      return result;
    }
    result.left = &way.left[{operand.kind, operand.index}];
    result.before = result.left->read(result.begin, end);
    if (!isWritten)
      return result;
    auto writesItAgain = [&](const GpuStep &later) {
      for (auto [i, other] : llvm::enumerate(later.operands))
        if (shareBytes(operand, other) && moduleOf(way, later).written >> i & 1)
          return true;
      return false;
    };
    bool isLast =
        operand.kind == Kind::Result &&
        llvm::none_of(ArrayRef(way.made->steps.steps).drop_front(way.taken + 1),
                      writesItAgain);
    Content content =
        isLast ? values.computed(layer->getResult(operand.index))
               : values.handedOver({layer, operand.kind == Kind::Temporary,
                                    operand.index, way.taken});
    if (isLast && isHalf)
      content = values.half(content);
    content.offset += result.begin;
    result.after = content;
    return result;
  }

  /// A binding that is read holds all of its contents. So does one that is
  /// written where an earlier step of the layer has left any.
  LogicalResult check(const StretchSubject &subject, unsigned number,
                      const Binding &binding, const Place &place) {
    if (place.end - place.begin != binding.size)
      return subject.fault(number) << "found " << place.end - place.begin
                                   << " bytes, expected " << binding.size;
    auto fault = [&] { return subject.fault(number); };
    if (failed(checkTouched(subject, number, binding)))
      return failure();
    if (!binding.after)
      return binding.forPieces([&](uint64_t begin, uint64_t end) {
        return image.expect(
            place.memory->read(place.begin + begin, place.begin + end),
            cut(binding.before, begin, end), end - begin,
            subject.content->operands[number].offset + begin, fault);
      });
    for (const Run &run : binding.before) {
      uint64_t size = run.end - run.begin, begin = place.begin + run.begin;
      if (failed(image.expect(place.memory->read(begin, begin + size),
                              {{0, size, run.content}}, size, run.begin,
                              fault)))
        return failure();
    }
    return success();
  }

  /// The dispatch says that it touches the bytes that the step touches.
  static LogicalResult checkTouched(const StretchSubject &subject,
                                    unsigned number, const Binding &binding) {
    auto said =
        llvm::find_if(subject.content->touched, [&](const auto &touched) {
          return touched.operand == number;
        });
    if (said == subject.content->touched.end())
      return binding.pieces == 1
                 ? success()
                 : LogicalResult(
                       subject.fault(number)
                       << "expected it to say which bytes it touches");
    if (said->count == binding.pieces && said->bytes == binding.piece &&
        (said->count == 1 || said->stride == binding.distance))
      return success();
    return subject.fault(number)
           << "touched: found " << said->count << " times " << said->bytes
           << " bytes, expected " << binding.pieces << " times "
           << binding.piece;
  }

  const codegen::SpirvModule &moduleOf(const Way &way,
                                       const GpuStep &step) const {
    return claim.code.module(way.made->kernels[step.kernel]);
  }

  /// Contents that a stretch hands back, until its end is reached.
  struct HandedBack {
    size_t end; ///< execute
    unsigned stretch, row;
    Operand host;
    Runs contents;
  };

  ProgramImage &image;
  const GpuClaim &claim;
  const artifact::ProgramGpu &gpu;
  SmallVector<plan::StretchOp, 4> planned;
  MemoryImage prepared; ///< the GPU's
  std::map<
      std::tuple<Operation *, const Routine *, uint64_t, unsigned, int64_t>,
      LayerSteps>
      known;
  std::vector<HandedBack> handedBack;
  /// Runs that split a stretch, until its end is reached.
  std::vector<std::unique_ptr<SplitImage>> splits;
};

} // namespace

std::unique_ptr<StretchProof> StretchProof::of(ProgramImage &image) {
  return std::make_unique<Follower>(image);
}
