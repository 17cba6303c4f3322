//===- SplitParts.h - The executes of a stretch's parts ---------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_SPLITPARTS_H
#define NNV12_ARTIFACT_SPLITPARTS_H

#include "artifact/Array.h"
#include "artifact/ProgramView.h"

namespace nnv12::artifact {

/// The switches of a program by execute.
class SwitchTable {
public:
  /// False when memory ran out.
  bool create(const bundle::Program *program) {
    if (!numbers_.allocate(numExecutes(program)))
      return false;
    for (uint32_t i = 0; i < numSwitches(program); ++i)
      numbers_[program->switches()->Get(i)->operation()] = i + 1;
    program_ = program;
    return true;
  }

  /// The operation in place of the execute in later runs; null: there is none.
  const bundle::Operation *replacementOf(uint32_t execute) const {
    uint32_t number = numbers_[execute];
    return number ? program_->switches()->Get(number - 1)->replacement()
                  : nullptr;
  }

private:
  const bundle::Program *program_ = nullptr;
  Array<uint32_t> numbers_; ///< by execute: its switch and 1, or 0
};

/// Finds the executes that the parts of a split stretch compute tiles of. Parts
/// are in the order of executes, and each has the layer and the operands of its
/// execute, or of the replacement of that.
class PartFinder {
public:
  PartFinder(const bundle::Program *program, const SwitchTable &switches,
             const bundle::Stretch *stretch)
      : program_(program), switches_(switches), execute_(stretch->first()),
        end_(stretch->first() + stretch->count()) {}

  /// Goes on to the execute of the next part; false where there is none.
  bool find(const bundle::Operation *part) {
    for (; execute_ < end_; ++execute_) {
      const bundle::Operation *own = program_->operations()->Get(execute_);
      whole_ = own;
      if (!isLike(part, own))
        whole_ = switches_.replacementOf(execute_);
      isOfSwitch_ = whole_ != own;
      if (whole_ && (!isOfSwitch_ || isLike(part, whole_)))
        return true;
    }
    return false;
  }

  uint32_t execute() const { return execute_; }
  /// The execute or its replacement.
  const bundle::Operation *whole() const { return whole_; }
  /// Whether it is the replacement.
  bool isOfSwitch() const { return isOfSwitch_; }

private:
  static bool isSame(const bundle::Operand *a, const bundle::Operand *b) {
    return a->space() == b->space() && a->index() == b->index() &&
           a->offset() == b->offset() && a->size() == b->size();
  }

  static bool isLike(const bundle::Operation *part,
                     const bundle::Operation *execute) {
    const auto &mine = *part->operands(), &its = *execute->operands();
    return mine.size() == its.size() &&
           std::equal(mine.begin(), mine.end(), its.begin(), isSame) &&
           part->layer()->string_view() == execute->layer()->string_view();
  }

  const bundle::Program *program_;
  const SwitchTable &switches_;
  uint32_t execute_, end_;
  const bundle::Operation *whole_ = nullptr;
  bool isOfSwitch_ = false;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPLITPARTS_H
