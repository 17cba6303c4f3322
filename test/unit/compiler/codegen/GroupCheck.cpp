//===- GroupCheck.cpp - Proves what groups write by running them ----------===//

#include "GroupCheck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <vector>

using namespace nnv12;
using namespace nnv12::test;
using llvm::formatv;

namespace {

/// They differ in every bit, so that a byte that keeps both was not written.
constexpr char poisons[] = {char(0xa5), char(0x5a)};

class GroupChecker {
public:
  using Run = llvm::function_ref<std::string(int64_t, int64_t)>;

  GroupChecker(const codegen::GpuDispatch &dispatch,
               llvm::ArrayRef<llvm::MutableArrayRef<char>> written, Run run)
      : maps(dispatch.maps), written(written), runGroups(run),
        groups(llvm::product_of(dispatch.groups, int64_t(1))) {}

  std::string check() {
    checkSizes();
    if (fault.empty())
      runAll();
    if (fault.empty())
      checkBoxes();
    for (int order : {0, 1})
      if (fault.empty())
        runInTurn(order);
    return fault;
  }

private:
  void poison(char value) {
    for (llvm::MutableArrayRef<char> memory : written)
      std::fill(memory.begin(), memory.end(), value);
  }
  /// Calls body(operand, byte) for the bytes of a group's boxes.
  void forBytes(int64_t group,
                llvm::function_ref<void(size_t, size_t)> body) const {
    for (auto [r, map] : llvm::enumerate(maps)) {
      size_t size = written[r].size() / map.whole().elements();
      map.forPieces(map.boxOf(group), [&, r = r](int64_t at, int64_t count) {
        for (size_t i = at * size; i < (at + count) * size; ++i)
          body(r, i);
        return true;
      });
    }
  }
  void checkSizes();
  void runAll();
  void checkBoxes();
  void runInTurn(int order);

  llvm::ArrayRef<TileMap> maps;
  llvm::ArrayRef<llvm::MutableArrayRef<char>> written;
  Run runGroups;
  const int64_t groups;
  std::string fault;
  /// The results of all groups at once, by poison and operand.
  std::vector<std::vector<char>> expected[2];
};

/// A map has the groups and the elements that there are.
void GroupChecker::checkSizes() {
  if (maps.size() != written.size())
    fault =
        formatv("found {0} maps, expected {1}", maps.size(), written.size());
  for (size_t r = 0; fault.empty() && r < maps.size(); ++r) {
    int64_t elements = maps[r].whole().elements();
    if (maps[r].tiles() != groups)
      fault = formatv("found a map of {0} groups, expected {1}",
                      maps[r].tiles(), groups);
    else if (elements == 0 || written[r].size() % elements)
      fault = formatv("found a map of {0} elements, expected {1} bytes",
                      elements, written[r].size());
  }
}

void GroupChecker::runAll() {
  for (int turn : {0, 1}) {
    poison(poisons[turn]);
    if (fault.empty())
      fault = runGroups(0, groups);
    for (llvm::MutableArrayRef<char> memory : written)
      expected[turn].emplace_back(memory.begin(), memory.end());
  }
}

/// The boxes are inside of the memory, disjoint, and all that is written.
void GroupChecker::checkBoxes() {
  std::vector<std::vector<char>> boxes;
  for (llvm::MutableArrayRef<char> memory : written)
    boxes.emplace_back(memory.size(), 0);
  for (int64_t g = 0; g < groups; ++g)
    forBytes(g, [&](size_t r, size_t i) {
      if (i >= boxes[r].size() || boxes[r][i]++)
        fault =
            formatv("group {0}: byte {1} is in another box, or nowhere", g, i);
    });
  for (size_t r = 0; r < boxes.size(); ++r)
    for (size_t i = 0; fault.empty() && i < boxes[r].size(); ++i)
      if (boxes[r][i] != (expected[0][r][i] == expected[1][r][i]))
        fault = formatv("byte {0}: found in {1} boxes, expected {2}", i,
                        int(boxes[r][i]), int(!boxes[r][i]));
}

/// Groups one by one find their boxes poisoned, and leave the expected bytes
/// there. An element that a group writes beside its box shows when the group
/// that owns it comes later, in one of both orders. Neighbours run
/// together where there are very many groups.
void GroupChecker::runInTurn(int order) {
  constexpr int64_t mostTurns = 512;
  const int64_t atOnce = llvm::divideCeil(groups, mostTurns),
                turns = llvm::divideCeil(groups, atOnce);
  poison(poisons[order]);
  for (int64_t turn = 0; fault.empty() && turn < turns; ++turn) {
    int64_t first = (order ? turns - 1 - turn : turn) * atOnce,
            end = std::min(first + atOnce, groups);
    auto expect = [&](const char *what,
                      llvm::function_ref<bool(size_t, size_t)> isGood) {
      for (int64_t g = first; g < end; ++g)
        forBytes(g, [&](size_t r, size_t i) {
          if (fault.empty() && !isGood(r, i))
            fault = formatv("group {0}: byte {1} {2}", g, i, what);
        });
    };
    expect("was written by another group",
           [&](size_t r, size_t i) { return written[r][i] == poisons[order]; });
    if (fault.empty())
      fault = runGroups(first, end);
    expect("differs from a run of all groups", [&](size_t r, size_t i) {
      return written[r][i] == expected[order][r][i];
    });
  }
}

} // namespace

std::string test::checkGroups(
    const codegen::GpuDispatch &dispatch,
    llvm::ArrayRef<llvm::MutableArrayRef<char>> written,
    llvm::function_ref<std::string(int64_t first, int64_t end)> run) {
  return GroupChecker(dispatch, written, run).check();
}
