//===- Net.h - Which schema each layer computes in --------------*- C++ -*-===//
//
// Plain structs: a net of layers that read and make values, and its cheapest
// assignment of signatures. All costs are milliseconds. SoftNeuro, section IV:
// dynamic programming for routine selection (DPRS).
//
// A value exists in one or several schemas: an element type and a layout, here
// only a number. Its producer makes it in one of them; adapts make copies in
// others, from it or from other copies. Other than in the paper, where each
// edge has its adapt, a copy serves all readers of the value.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_NET_H
#define NNV12_COMPILER_SEARCH_NET_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace nnv12::search {

/// A layer reads an operand of this schema in any. It makes a result of this
/// schema in the one that suits the readers best.
inline constexpr uint8_t anySchema = 255;
inline constexpr uint8_t noSchema = 254;
/// A value has at most so many. Prices grow with 2^schemas: prune them to 4.
inline constexpr unsigned mostSchemas = 8;
/// Cost of the impossible.
inline constexpr double impossible = std::numeric_limits<double>::infinity();

/// One way to compute a layer, as the other layers see it: the schemas of its
/// operands and results. A layer that keeps the schema of its operand has a
/// signature for each.
struct Signature {
  std::vector<uint8_t> operands, results; ///< schemas, or anySchema
  double cost = 0;                        ///< ms, not negative; or impossible
};

struct NetLayer {
  std::vector<uint32_t> operands; ///< values; one may occur several times
  std::vector<uint32_t> results;  ///< values that no other layer makes
  std::vector<Signature> signatures = {};
};

/// Values number their schemas alike where they can: sets of wanted schemas
/// that are alike are solved once.
struct NetValue {
  uint8_t schemas = 1; ///< 1 to mostSchemas
  /// [from][to] in ms, not negative; or impossible. Those from a schema to
  /// itself do not count.
  std::vector<double> adapt = {0};
  uint8_t given = noSchema;    ///< of an input of the net; no layer makes it
  uint8_t required = noSchema; ///< of an output of the net
};

struct Net {
  std::vector<NetLayer> layers; ///< producers before readers
  std::vector<NetValue> values; ///< each has a producer or is given
};

/// Makes a copy of a value.
struct NetAdapt {
  uint32_t value;
  uint8_t from, to; ///< schemas
  bool operator==(const NetAdapt &o) const {
    return value == o.value && from == o.from && to == o.to;
  }
};

struct NetChoice {
  /// Index into NetLayer::signatures, a layer. Empty where the cost is
  /// impossible, as `produced` and `adapts` are.
  std::vector<uint32_t> signatures = {};
  /// The schema in which each value is made or given.
  std::vector<uint8_t> produced = {};
  /// By value; those of one value in an order in which they can run.
  std::vector<NetAdapt> adapts = {};
  double cost = 0;  ///< ms, of layers and adapts
  double bound = 0; ///< ms: no choice costs less
  /// No choice costs less than this one; cost and bound are equal.
  bool exact = false;
  /// Additions and comparisons: the cost of the search, the same on all
  /// machines.
  uint64_t steps = 0;
};

/// Limits of an exact solution.
struct NetLimits {
  /// In all. Where they do not suffice, half of them are for a bound, and half
  /// for descents.
  uint64_t steps = uint64_t(1) << 27;
  /// Entries of a table. All tables together have at most 8 times as many.
  uint64_t table = uint64_t(1) << 20;
};

/// The cheapest choice: the paper's DPRS as elimination of variables. Beyond
/// the limits it is a good choice with a bound, the best of some descents:
/// never dearer than greedy(), any uniform(), or `start`, which has one
/// signature a layer or is empty. Dead ends are found and starts are evaluated
/// whatever the limits. The net is only read, and the answer is the same on all
/// machines.
NetChoice dprs(const Net &net, const NetLimits &limits = {},
               const std::vector<uint32_t> &start = {});

/// Layers in their order: each takes the signature that is cheapest given the
/// copies that exist already, counting the adapts of its operands. Ties go to
/// the lower number. Knows no bound.
NetChoice greedy(const Net &net);

/// Each layer by itself: of the signatures with the most operands and results
/// in `schema`, those in any schema included, it takes the cheapest. Ties go to
/// the lower number; impossible signatures are the last resort. Knows no bound.
NetChoice uniform(const Net &net, uint8_t schema);

/// The cost of one signature a layer, with the cheapest adapts for them: for
/// each value the least arborescence from the produced schema over the wanted
/// ones, through others where that helps. Knows no bound.
NetChoice priced(const Net &net, const std::vector<uint32_t> &signatures);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_NET_H
