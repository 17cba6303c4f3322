//===- PlannedSample.cpp - A sample bundle with lanes ---------------------===//
#include "test/unit/sample/PlannedSample.h"

#include <algorithm>

namespace nnv12::test {

std::vector<unsigned char> storedFrame(const std::vector<unsigned char> &data) {
  // Magic; a header that says "single segment, content size in 8 bytes".
  std::vector<unsigned char> frame = {0x28, 0xb5, 0x2f, 0xfd, 0xe0};
  for (int i = 0; i < 8; ++i)
    frame.push_back(static_cast<unsigned char>(data.size() >> 8 * i));
  constexpr size_t largestBlock = 128 << 10;
  size_t begin = 0;
  do {
    size_t size = std::min(largestBlock, data.size() - begin);
    bool isLast = begin + size == data.size();
    size_t header = size << 3 | (isLast ? 1 : 0); // type 0: as it is
    for (int i = 0; i < 3; ++i)
      frame.push_back(static_cast<unsigned char>(header >> 8 * i));
    frame.insert(frame.end(), data.begin() + begin,
                 data.begin() + begin + size);
    begin += size;
  } while (begin < data.size());
  return frame;
}

std::vector<unsigned char> splitPlanes(const void *data, size_t size,
                                       unsigned planes) {
  auto *bytes = static_cast<const unsigned char *>(data);
  std::vector<unsigned char> result(size);
  for (size_t i = 0; i < size; ++i)
    result[i % planes * (size / planes) + i / planes] = bytes[i];
  return result;
}

PlannedSample::PlannedSample(size_t tiles, unsigned lanes, unsigned rounds)
    : Sample(tiles), rounds(rounds) {
  for (float value : b)
    c.push_back(value / 2);
  size_t bytes = b.size() * sizeof(float);
  frame = storedFrame(splitPlanes(b.data(), bytes, 4));
  split = splitPlanes(c.data(), bytes, 2);
  bundle.segments[2].pieces.push_back({frame.data(), frame.size()});
  bundle.segments[2].pieces.push_back({split.data(), split.size()});
  for (artifact::Program &program : bundle.programs)
    plan(program, lanes, rounds);
}

void PlannedSample::plan(artifact::Program &program, unsigned lanes,
                         unsigned rounds) {
  using namespace artifact;
  uint64_t bytes = b.size() * sizeof(float);
  uint64_t frameBegin = 2 * bytes;
  uint64_t splitBegin = frameBegin + (frame.size() + 63) / 64 * 64;
  uint64_t tiles = program.operations[0].tiles;
  Operand x{Space::Input, 0, 0, bytes}, y{Space::Output, 0, 0, bytes};
  Operand sum{Space::Arena, 0, 0, bytes},
      product{Space::Arena, 0, bytes, bytes};
  Operand aOperand{Space::Weights, 2, 0, bytes};
  Operand frameOperand{Space::Weights, 2, frameBegin, frame.size()};
  Operand splitOperand{Space::Weights, 2, splitBegin, bytes};

  program.operations.clear();
  program.lanes.resize(lanes);
  for (unsigned i = 0; i < lanes; ++i)
    program.lanes[i].kind = i ? LaneKind::Prepare : LaneKind::Execute;
  for (uint32_t r = 0; r < rounds; ++r) {
    std::string layer = "round" + std::to_string(r);
    auto prepared = [&](uint32_t part) {
      return Operand{Space::Prepared, 0, (3 * r + part) * bytes, bytes};
    };
    auto add = [&](Operation operation, OperationKind kind,
                   std::vector<OperationId> after) -> OperationId {
      operation.kind = kind;
      operation.after = std::move(after);
      // Every round decodes the same bytes.
      operation.lastReader = kind == OperationKind::Decode && rounds == 1;
      program.preparations.push_back(std::move(operation));
      return {LaneKind::Prepare, uint32_t(program.preparations.size() - 1)};
    };
    OperationId read =
        add({layer, 0, {frameOperand}, 0}, OperationKind::Read, {});
    OperationId decode = add({layer, 0, {prepared(0), frameOperand}, 0},
                             OperationKind::Decode, {read});
    program.preparations[decode.index].codec = Codec::Zstd;
    program.preparations[decode.index].planes = 4;
    OperationId transform = add({layer, 2, {prepared(1), prepared(0)}, tiles},
                                OperationKind::Transform, {decode});
    OperationId later = add({layer, 0, {prepared(2), splitOperand}, 0},
                            OperationKind::Decode, {});
    program.preparations[later.index].planes = 2;
    for (OperationId id : {read, decode, transform})
      program.lanes[(r + id.index) % lanes].queue.push_back(id);
    program.lanes[r % lanes].background.push_back(later);

    uint32_t execute = uint32_t(program.operations.size());
    program.operations.push_back(
        {layer, 0, {sum, r ? product : x, aOperand}, tiles});
    program.operations.back().liveArena = r ? 2 * bytes : bytes;
    program.operations.push_back(
        {layer, 1, {product, sum, prepared(1)}, tiles});
    program.operations.back().after = {transform};
    program.operations.back().liveArena = 2 * bytes;
    for (uint32_t i : {execute, execute + 1})
      program.lanes[0].queue.push_back({LaneKind::Execute, i});
    Operation replacement{layer, 1, {product, sum, prepared(2)}, tiles};
    replacement.after = {later};
    replacement.liveArena = 2 * bytes;
    program.switches.push_back({execute + 1, std::move(replacement)});
  }
  program.lanes[0].queue.push_back(
      {LaneKind::Execute, uint32_t(program.operations.size())});
  program.operations.push_back({"last", 2, {y, product}, tiles});
  program.operations.back().liveArena = bytes;
  program.preparedSize = 3 * rounds * bytes;
  program.predictedCold = 2000;
  program.predictedWarm = 1000;
  // Times for tools that show them: on each lane, one after another.
  for (const Lane &lane : program.lanes) {
    uint64_t time = 0;
    for (OperationId entry : lane.queue) {
      Operation &operation = entry.kind == LaneKind::Execute
                                 ? program.operations[entry.index]
                                 : program.preparations[entry.index];
      operation.predictedStart = time;
      operation.predictedEnd = time += 250;
    }
  }
}

void PlannedSample::damage(unsigned round, Decode which) {
  using namespace artifact;
  uint64_t begin = 0;
  for (const Segment::Piece &piece : bundle.segments[2].pieces)
    begin += (piece.size + 63) / 64 * 64;
  damagedFrame = frame;
  damagedFrame[4] = 0xff;
  bundle.segments[2].pieces.push_back(
      {damagedFrame.data(), damagedFrame.size()});
  for (Program &program : bundle.programs) {
    Operation &decode =
        program.preparations[4 * round + (which == Decode::First ? 1 : 3)];
    decode.codec = Codec::Zstd;
    decode.lastReader = true;
    decode.operands[1] = {Space::Weights, 2, begin, damagedFrame.size()};
  }
}

float PlannedSample::expectedRun(size_t i, float x, bool switched) const {
  // Volatile: rounded as the kernels do it, never fused.
  volatile float value = x;
  for (unsigned r = 0; r < rounds; ++r) {
    value = value + a[i];
    value = value * (switched ? c[i] : b[i]);
  }
  return value;
}

} // namespace nnv12::test
