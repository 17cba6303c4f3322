//===- Elimination.h - The least sum of small tables ------------*- C++ -*-===//
//
// Variables of few values, and costs that each depend on some of them. One
// variable after another is eliminated: the tables that depend on it are added
// up, and its least over its values is a new table over their other variables
// (bucket elimination, Dechter 1999). Where that table would be too large, its
// parts are minimised apart, which gives a bound (mini-buckets, Dechter and
// Rish 2003).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_ELIMINATION_H
#define NNV12_COMPILER_SEARCH_ELIMINATION_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace nnv12::search {

class Elimination {
public:
  /// One variable a size, with the values 0 to size - 1.
  explicit Elimination(std::vector<uint32_t> sizes);

  /// Adds costs, not negative, impossible ones included. Variables ascend; the
  /// last one's values follow one another.
  void add(const std::vector<uint32_t> &variables,
           const std::vector<double> &costs);

  /// Tables that are added up, and the variables of the sum's least.
  struct MiniBucket {
    std::vector<uint32_t> tables; ///< those added, then results in order
    std::vector<uint32_t> scope;  ///< ascending
  };
  struct Bucket {
    uint32_t variable;
    std::vector<MiniBucket> parts;
  };
  /// The work ahead.
  struct Outline {
    std::vector<Bucket> buckets; ///< in the order of elimination
    bool exact = true;           ///< no bucket has parts
    uint64_t entries = 0;        ///< of all results
    uint64_t steps = 0;          ///< additions
  };
  /// Least fill first: the variable whose neighbours lack the fewest pairs,
  /// each of which counts as many entries as a table of the two has, of those
  /// whose own table has at most `largest`. Ties go to the lower number. Adds
  /// its own cost to `steps`.
  Outline outline(uint64_t largest, uint64_t &steps) const;

  struct Solution {
    std::vector<uint32_t> values; ///< one a variable
    double least = 0;             ///< if exact, else a bound
  };
  Solution solve(const Outline &outline) const;

private:
  struct Table {
    std::vector<uint32_t> scope; ///< variables, ascending
    std::vector<double> costs;   ///< the last variable's values in a row
  };
  class Order;
  using Tables = std::vector<const Table *>;

  Table minimized(const Tables &tables, uint32_t variable,
                  const std::vector<uint32_t> &scope) const;
  double at(const Table &table, const std::vector<uint32_t> &values) const;

  std::vector<uint32_t> sizes;
  std::vector<Table> added;
  std::map<std::vector<uint32_t>, size_t> addedAt; ///< by scope
};

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_ELIMINATION_H
