//===- VideoSample.cpp - A sample bundle with a part for video ------------===//
#include "test/unit/sample/VideoSample.h"

#include <map>
#include <set>
#include <tuple>

namespace nnv12::test {

using namespace artifact;

namespace {

/// Follows the values of a program from execute to execute.
class VideoBuilder {
public:
  VideoBuilder(const Bundle &bundle, const Program &program)
      : program(program), tiles(program.kernels[0].tiles),
        columns(tiles % 2 ? tileSize : 2 * tileSize),
        rows(tiles * tileSize / columns) {
    for (uint32_t i = 0; i < bundle.inputs.size(); ++i) {
      Value value = addValue();
      values[{Space::Input, i, 0}] = value;
      video.inputs.push_back({value.set, value.place, pixels()});
    }
    for (uint32_t i = 0; i < program.operations.size(); ++i)
      addExecute(i);
    for (const Switch &change : program.switches) {
      VideoPart part = video.executes[change.operation].part;
      if (part.tiles == VideoTiles::Rows)
        part.tiles = VideoTiles::Cells;
      video.switches.push_back(part);
    }
    for (uint32_t i = 0; i < bundle.outputs.size(); ++i)
      video.outputs.push_back(values[{Space::Output, i, 0}].place);
    addChecks();
  }

  ProgramVideo video;

private:
  struct Value {
    uint32_t set;
    uint64_t place;
  };
  using Location = std::tuple<Space, uint32_t, uint64_t>;

  /// Each value has the same.
  PixelLayout pixels() const { return {columns * 4, 4, 1, 0, 4}; }

  Value addValue() {
    Value value = {uint32_t(video.sets.size()), video.arenaSize};
    video.sets.push_back({uint32_t(rows), uint32_t(columns)});
    video.arenaSize += rows * columns * sizeof(float);
    return value;
  }

  void addExecute(uint32_t number) {
    const Operation &operation = program.operations[number];
    VideoExecute execute;
    Value result = addValue();
    execute.set = result.set;
    execute.places.push_back(result.place);
    for (size_t i = 1; i < operation.operands.size(); ++i) {
      const Operand &operand = operation.operands[i];
      auto found = values.find({operand.space, operand.index, operand.offset});
      bool isMoved = found != values.end();
      execute.places.push_back(isMoved ? found->second.place
                                       : VideoExecute::asInProgram);
      if (isMoved)
        video.sets[result.set].reads.push_back(
            {found->second.set, /*all=*/number % 4 == 3});
    }
    const Operand &written = operation.operands[0];
    values[{written.space, written.index, written.offset}] = result;
    switch (number % 4) {
    case 0:
      execute.part = {VideoTiles::Runs, 0};
      break;
    case 1:
      execute.part = {VideoTiles::Rows, 0, 1, addKernel(operation)};
      break;
    case 2:
      execute.part = {VideoTiles::Cells, 0, 1, addKernel(operation)};
      break;
    default:
      break;
    }
    video.executes.push_back(execute);
  }

  /// All at one place, behind the values.
  void addChecks() {
    video.reuse = VideoReuse::Bounded;
    video.tolerance = 0.25F;
    video.inputTolerance = 0.125F;
    video.refresh = 10;
    for (size_t i = 0; i < video.executes.size(); ++i)
      if (i % 4 != 3)
        video.executes[i].check = {video.arenaSize, pixels()};
    video.arenaSize += rows * columns * sizeof(float);
  }

  /// The operation's kernel, whose tiles are known as parts of the plane.
  uint32_t addKernel(const Operation &operation) {
    Kernel kernel = program.kernels[operation.kernel];
    kernel.maps = {{{{rows, columns}, {columns, 1}},
                    {{{0, 0},
                      {rows, columns},
                      {{0, rows, 1}, {1, columns / tileSize, tileSize}}}}}};
    video.kernels.push_back(kernel);
    return uint32_t(video.kernels.size() - 1);
  }

  const Program &program;
  const uint64_t tiles, columns, rows;
  std::map<Location, Value> values;
};

} // namespace

void addVideo(Bundle &bundle) {
  for (Program &program : bundle.programs)
    program.video = VideoBuilder(bundle, program).video;
}

static void joinTail(const Program &program, ProgramVideo &video,
                     uint32_t first) {
  uint32_t number = video.executes[first].set;
  VideoSet joined = {1, 1};
  for (size_t i = number; i < video.sets.size(); ++i)
    for (const VideoRead &read : video.sets[i].reads)
      if (read.set < number)
        joined.reads.push_back({read.set, /*all=*/true});
  video.sets.resize(number);
  video.sets.push_back(joined);
  std::set<uint64_t> written; // offsets in the program's memory
  for (size_t i = first; i < video.executes.size(); ++i) {
    VideoExecute &execute = video.executes[i];
    const std::vector<Operand> &operands = program.operations[i].operands;
    for (size_t k = 1; k < operands.size(); ++k)
      if (operands[k].space == Space::Arena &&
          written.count(operands[k].offset))
        execute.places[k] = VideoExecute::asInProgram;
    if (operands[0].space == Space::Arena) {
      written.insert(operands[0].offset);
      execute.places[0] = VideoExecute::asInProgram;
    }
    execute.set = number;
    execute.part = {};
    execute.check.reset();
  }
  for (size_t i = 0; i < program.switches.size(); ++i)
    if (program.switches[i].operation >= first)
      video.switches[i] = {};
}

void joinTail(Bundle &bundle, uint32_t first) {
  for (Program &program : bundle.programs)
    joinTail(program, *program.video, first);
}

} // namespace nnv12::test
