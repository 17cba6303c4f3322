//===- TileCheck.cpp - Proves what tiles write by running them ------------===//

#include "compiler/codegen/cpu/TileCheck.h"

#include "dialects/nn/Layout.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::codegen;
using llvm::formatv;

namespace {

/// Memory holds one of these before a tile writes to it: NaNs, or zeros. They
/// differ in every bit, so that a byte that keeps both was not written.
constexpr unsigned char poisons[] = {0xff, 0x00};

/// Memory between two pages that nobody may touch, its end (or its start) at
/// one.
class GuardedMemory {
public:
  GuardedMemory(int64_t bytes, bool atEnd) : bytes(bytes) {
    size_t page = sysconf(_SC_PAGESIZE);
    size_t pages = (bytes + page - 1) / page * page;
    total = pages + 2 * page;
    void *memory = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return;
    base = static_cast<char *>(memory);
    mprotect(base, page, PROT_NONE);
    mprotect(base + page + pages, page, PROT_NONE);
    data = base + page + (atEnd ? pages - bytes : 0);
  }
  GuardedMemory(GuardedMemory &&other)
      : data(other.data), bytes(other.bytes), base(other.base),
        total(other.total) {
    other.base = nullptr;
  }
  GuardedMemory(const GuardedMemory &) = delete;
  ~GuardedMemory() {
    if (base)
      munmap(base, total);
  }
  explicit operator bool() const { return base; }

  char *data = nullptr;
  int64_t bytes;

private:
  char *base = nullptr;
  size_t total = 0;
};

/// Ordinary numbers: floats in [-1, 1), small integers (they may be indices).
void fill(char *data, const TileCheck::Operand &operand, uint32_t seed) {
  std::minstd_rand random(seed);
  if (operand.element.isF32()) {
    auto *x = reinterpret_cast<float *>(data);
    for (int64_t i = 0; i < operand.bytes / 4; ++i)
      x[i] = float(int32_t(random() & 0xffff) - 0x8000) / 0x8000;
    return;
  }
  int64_t size = nn::storageElementSize(operand.element);
  unsigned values = operand.element.getIntOrFloatBitWidth() == 1 ? 2 : 7;
  auto type = llvm::dyn_cast<mlir::FloatType>(operand.element);
  auto number = [&]() -> uint64_t {
    if (!type)
      return random() % values;
    llvm::APFloat x(double(int32_t(random() & 0xff) - 0x80) / 0x80);
    bool inexact;
    x.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
              &inexact);
    return x.bitcastToAPInt().getZExtValue();
  };
  for (int64_t i = 0; i + size <= operand.bytes; i += size) {
    uint64_t bits = number();
    std::memcpy(data + i, &bits, size);
  }
}

/// The ends of each type's range, and numbers that are none: as bits, a byte
/// pattern that repeats gives large, small and negative integers and floats of
/// all kinds.
void fillWild(char *data, const TileCheck::Operand &operand, uint32_t seed) {
  if (operand.element.getIntOrFloatBitWidth() == 1)
    return fill(data, operand, seed);
  static constexpr uint64_t wild[] = {
      0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
      0x7f7fffff7f7fffff, 0x7ff0000000000000, 0xfff0000000000000,
      0x7f8000007f800000, 0xff800000ff800000, 0x7fff7fff7fff7fff,
      0x8000800080008000, 0x7c00fc007f80ff80, 0x4b0000004b000000,
      0xcb000000cb000000, 0x0000000080000000, 0x000000007fffffff,
      0x0001000100010001};
  std::minstd_rand random(seed);
  for (int64_t i = 0; i < operand.bytes; i += 8)
    std::memcpy(data + i, &wild[random() % std::size(wild)],
                std::min<int64_t>(8, operand.bytes - i));
}

bool isAll(const char *data, int64_t bytes, unsigned char value) {
  return bytes == 0 || (static_cast<unsigned char>(*data) == value &&
                        std::memcmp(data, data + 1, bytes - 1) == 0);
}

/// The checks of one kernel.
class Checker {
public:
  Checker(const TileCheck &check, artifact::KernelFn kernel)
      : check(check), kernel(kernel), tiles(check.info.tiles) {
    assert(check.results <= check.operands.size() &&
           "results are the first operands");
  }

  std::string run();

private:
  bool allocate(bool atEnd) {
    memories.clear();
    scratch.clear();
    table.clear();
    for (auto [i, operand] : llvm::enumerate(check.operands)) {
      memories.emplace_back(operand.bytes, atEnd);
      if (!memories.back())
        return false;
      table.push_back(memories.back().data);
      if (i >= check.results)
        fill(memories.back().data, operand, i + 1);
    }
    // Scratch memory is aligned to 64 bytes.
    scratch.emplace_back((check.info.scratchBytes + 63) / 64 * 64, atEnd);
    return bool(scratch.back());
  }

  void poison(unsigned char value) {
    for (unsigned r = 0; r < check.results; ++r)
      std::memset(memories[r].data, value, memories[r].bytes);
  }

  void runTiles(int64_t begin, int64_t end) {
    std::memset(scratch[0].data, 0xff, scratch[0].bytes);
    kernel(table.data(), begin, end, scratch[0].data);
  }

  int64_t elementBytes(unsigned result) const {
    return nn::storageElementSize(check.operands[result].element);
  }
  std::string checkMap(unsigned result) const;
  std::string checkBoxes(llvm::ArrayRef<int64_t> order, unsigned char value);
  std::string checkParts(llvm::ArrayRef<int64_t> order);
  std::string checkWhole(llvm::StringRef how) {
    for (unsigned r = 0; r < check.results; ++r) {
      const char *found = memories[r].data;
      auto [a, b] =
          std::mismatch(found, found + memories[r].bytes, expected[r].begin());
      if (a != found + memories[r].bytes)
        return formatv("result {0}: byte {1} differs {2}", r, a - found, how);
    }
    return "";
  }

  /// Result 0 in the memory of an operand.
  std::string checkInPlace(unsigned operand, llvm::ArrayRef<int64_t> order) {
    unsigned number = check.results + operand;
    if (check.operands[number].bytes != check.operands[0].bytes)
      return formatv(
          "operand {0}: in place, but {1} bytes where the result has {2}",
          operand, check.operands[number].bytes, check.operands[0].bytes);
    poison(poisons[0]);
    std::memcpy(memories[0].data, memories[number].data, memories[0].bytes);
    table[number] = table[0];
    for (int64_t tile : order)
      runTiles(tile, tile + 1);
    table[number] = memories[number].data;
    return checkWhole(formatv("in the memory of operand {0}", operand).str());
  }

  const TileCheck &check;
  artifact::KernelFn kernel;
  const int64_t tiles;
  std::vector<GuardedMemory> memories;
  std::vector<void *> table;
  std::vector<std::vector<char>> expected; ///< the results of all tiles at once
  std::vector<GuardedMemory> scratch;
};

/// The boxes are as many as the tiles and as large as the result.
std::string Checker::checkMap(unsigned result) const {
  const TileMap &map = check.info.maps[result];
  if (map.tiles() != tiles)
    return formatv("found a map of {0} tiles, expected {1}", map.tiles(),
                   tiles);
  int64_t sum = 0, size = check.operands[result].bytes / elementBytes(result);
  TileMap::Box whole = map.whole();
  if (whole.elements() != size)
    return formatv("result {0}: found a map of {1} elements, expected {2}",
                   result, whole.elements(), size);
  for (int64_t t = 0; t < tiles; ++t) {
    TileMap::Box box = map.boxOf(t);
    for (size_t a = 0; a < map.axes.size(); ++a)
      if (box.lo[a] < 0 || box.lo[a] > box.hi[a] ||
          box.hi[a] > map.axes[a].extent)
        return formatv(
            "result {0}, tile {1}: found positions {2} to {3} of axis {4}, "
            "expected them within {5}",
            result, t, box.lo[a], box.hi[a], a, map.axes[a].extent);
    sum += box.elements();
  }
  if (sum != size)
    return formatv(
        "result {0}: found boxes of {1} elements in all, expected {2}", result,
        sum, size);
  return "";
}

/// Each tile finds its box as it was poisoned, and leaves the expected result
/// there. An element that a tile writes outside of its box is noticed when the
/// tile that owns it comes later; run() takes each order forwards and
/// backwards.
std::string Checker::checkBoxes(llvm::ArrayRef<int64_t> order,
                                unsigned char value) {
  poison(value);
  for (int64_t tile : order) {
    auto each = [&](const char *fault,
                    llvm::function_ref<bool(unsigned, int64_t, int64_t)> good) {
      std::string text;
      for (unsigned r = 0; r < check.results && text.empty(); ++r) {
        const TileMap &map = check.info.maps[r];
        map.forPieces(map.boxOf(tile), [&](int64_t at, int64_t elements) {
          at *= elementBytes(r);
          int64_t bytes = elements * elementBytes(r);
          if (good(r, at, bytes))
            return true;
          text = formatv("result {0}, tile {1}: {2} bytes {3} to {4}", r, tile,
                         fault, at, at + bytes);
          return false;
        });
      }
      return text;
    };
    std::string text =
        each("another tile wrote", [&](unsigned r, int64_t at, int64_t bytes) {
          return isAll(memories[r].data + at, bytes, value);
        });
    if (!text.empty())
      return text;
    runTiles(tile, tile + 1);
    text = each("did not write as expected",
                [&](unsigned r, int64_t at, int64_t bytes) {
                  return std::memcmp(memories[r].data + at,
                                     expected[r].data() + at, bytes) == 0;
                });
    if (!text.empty())
      return text;
  }
  return checkWhole("after all tiles one by one");
}

/// Without a map, both poisons together show which bytes are written.
std::string Checker::checkParts(llvm::ArrayRef<int64_t> order) {
  std::vector<std::vector<char>> written;
  for (unsigned r = 0; r < check.results; ++r)
    written.emplace_back(memories[r].bytes, 0);
  std::vector<std::vector<char>> kept(check.results);
  for (int64_t tile : order) {
    for (unsigned char value : poisons) {
      poison(value);
      runTiles(tile, tile + 1);
      for (unsigned r = 0; r < check.results; ++r)
        if (value == poisons[0])
          kept[r].assign(memories[r].data,
                         memories[r].data + memories[r].bytes);
    }
    for (unsigned r = 0; r < check.results; ++r)
      for (int64_t i = 0; i < memories[r].bytes; ++i) {
        auto a = static_cast<unsigned char>(kept[r][i]);
        auto b = static_cast<unsigned char>(memories[r].data[i]);
        if (a == poisons[0] && b == poisons[1])
          continue;
        if (written[r][i]++)
          return formatv(
              "result {0}, tile {1}: byte {2} belongs to another tile", r, tile,
              i);
        if (a != b || kept[r][i] != expected[r][i])
          return formatv(
              "result {0}, tile {1}: byte {2} depends on other tiles", r, tile,
              i);
      }
  }
  for (unsigned r = 0; r < check.results; ++r)
    for (int64_t i = 0; i < memories[r].bytes; ++i)
      if (!written[r][i])
        return formatv("result {0}: no tile writes byte {1}", r, i);
  return "";
}

std::string Checker::run() {
  if (tiles == 0)
    return "";
  bool hasMaps = !check.info.maps.empty();
  if (hasMaps && check.info.maps.size() != check.results)
    return formatv("found {0} maps, expected {1}", check.info.maps.size(),
                   check.results);
  for (unsigned r = 0; hasMaps && r < check.results; ++r)
    if (std::string fault = checkMap(r); !fault.empty())
      return fault;
  std::vector<int64_t> order(tiles);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
  for (bool atEnd : {true, false}) {
    if (!allocate(atEnd))
      return "found too little memory, expected room for all operands";
    poison(poisons[0]);
    runTiles(0, tiles);
    if (atEnd)
      for (unsigned r = 0; r < check.results; ++r)
        expected.emplace_back(memories[r].data,
                              memories[r].data + memories[r].bytes);
    else if (std::string fault = checkWhole("at another address");
             !fault.empty())
      return fault;
    for (unsigned char value : poisons) {
      std::reverse(order.begin(), order.end());
      std::string fault;
      if (hasMaps)
        fault = checkBoxes(order, value);
      else if (atEnd && value == poisons[0])
        fault = checkParts(order);
      if (!fault.empty())
        return fault;
    }
    // The next round has every poison in the other direction.
    std::reverse(order.begin(), order.end());
  }
  // For any values the kernel ends, and stays in its memory.
  for (bool atEnd : {true, false}) {
    if (!allocate(atEnd))
      return "found too little memory, expected room for all operands";
    for (size_t i = check.results; i < check.operands.size(); ++i)
      fillWild(memories[i].data, check.operands[i], i + 1);
    runTiles(0, tiles);
  }
  if (!allocate(true))
    return "found too little memory, expected room for all operands";
  for (unsigned operand : check.info.inPlaceOperands)
    if (std::string fault = checkInPlace(operand, order); !fault.empty())
      return fault;
  return "";
}

/// The child's report while it runs.
struct Progress {
  size_t kernel = 0;
  size_t length = 0;
  char text[4000];
};

} // namespace

std::string codegen::runTileCheck(const TileCheck &check,
                                  artifact::KernelFn kernel) {
  std::string fault = Checker(check, kernel).run();
  return fault.empty() ? fault : "kernel " + check.name + ": " + fault;
}

std::string codegen::runTileChecks(llvm::ArrayRef<TileCheck> checks,
                                   llvm::ArrayRef<char> code,
                                   const Target &target) {
  if (!target.runsHere())
    return "found a machine that cannot run this target, expected one that can";
  void *shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void *memory = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || memory == MAP_FAILED)
    return "found too little memory, expected room for the code";
  auto *progress = new (shared) Progress;
  std::memcpy(memory, code.data(), code.size());
  mprotect(memory, code.size(), PROT_READ | PROT_EXEC);
  std::string fault;
  pid_t child = fork();
  if (child == 0) {
    alarm(600); // a kernel that does not end
    for (size_t i = 0; i < checks.size(); ++i) {
      progress->kernel = i;
      auto kernel = reinterpret_cast<artifact::KernelFn>(
          static_cast<char *>(memory) + checks[i].entry);
      std::string text = runTileCheck(checks[i], kernel);
      if (text.empty())
        continue;
      progress->length = std::min(text.size(), sizeof(progress->text));
      std::memcpy(progress->text, text.data(), progress->length);
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    fault = "found no process to run kernels in";
  else if (progress->length)
    fault.assign(progress->text, progress->length);
  else if (status != 0)
    fault =
        formatv("kernel {0}: touches memory that is not its own ({1} {2})",
                checks[progress->kernel].name,
                WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  munmap(shared, sizeof(Progress));
  munmap(memory, code.size());
  return fault;
}
