//===- NetView.h - A net by its values --------------------------*- C++ -*-===//
//
// Solvers of a net share the prices of the copies of each value, and the
// layers' wishes for them. Sets of schemas are bit masks.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_NETVIEW_H
#define NNV12_COMPILER_SEARCH_NETVIEW_H

#include "compiler/search/Net.h"

namespace nnv12::search {

/// Prices of the copies of one value, in ms.
class CopyPrices {
public:
  explicit CopyPrices(const NetValue &value);

  /// The least cost of adapts that make all wanted schemas from the produced
  /// one, which may be anySchema.
  double least(uint8_t produced, unsigned wanted) const;
  /// `produced`, or the schema that is best where it may be any.
  uint8_t bestProduced(uint8_t produced, unsigned wanted) const;
  /// The adapts of least(), in an order in which they can run.
  std::vector<NetAdapt> adapts(uint32_t value, uint8_t produced,
                               unsigned wanted) const;

  struct Growth {
    double cost;
    unsigned set; ///< of schemas that exist then
  };
  /// The least cost of adapts that add all wanted schemas to existing ones. If
  /// none exists yet, one is free.
  Growth grow(unsigned existing, unsigned wanted) const;
  unsigned sets() const { return 1u << schemas; }

private:
  /// The cheapest way to get from some schemas to each larger set: the adapt
  /// that comes last.
  struct Way {
    double cost = impossible;
    uint8_t from = 0, to = 0;
  };
  std::vector<Way> spread(unsigned existing) const;
  /// The cheapest set that has all of these, the least of equally cheap ones.
  unsigned cheapestWith(const std::vector<Way> &ways, unsigned wanted) const;

  unsigned schemas;
  std::vector<double> adapt; ///< [from][to]
  std::vector<double> table; ///< [produced][wanted]
};

struct ValueReader {
  uint32_t layer;
  std::vector<uint8_t> wants; ///< set of schemas, a signature
};

struct ValueView {
  static constexpr uint32_t none = ~0u;
  CopyPrices copies;
  uint32_t producer = none; ///< layer; none: given
  /// For each signature of the producer; a single one where it is given.
  std::vector<uint8_t> produced = {};
  std::vector<ValueReader> readers = {}; ///< one a layer, ascending
  uint8_t required = 0;                  ///< set of schemas
};

/// A value that a layer reads or makes.
struct NetPort {
  static constexpr uint32_t producer = ~0u;
  uint32_t value;
  uint32_t reader; ///< index into ValueView::readers, or producer
};

/// The net must outlive it.
struct NetView {
  explicit NetView(const Net &net);

  /// The schema in which a value is made, or anySchema.
  uint8_t produced(size_t value, const std::vector<uint32_t> &chosen) const;
  /// The set of schemas in which a value is wanted.
  unsigned wanted(size_t value, const std::vector<uint32_t> &chosen) const;
  NetChoice priced(const std::vector<uint32_t> &chosen) const;

  const Net &net;
  std::vector<ValueView> values;
  /// By layer; each value once.
  std::vector<std::vector<NetPort>> ports;
  uint8_t schemas = 0; ///< of the value that has most
  /// Each layer has a signature, possible or not.
  bool complete = true;
};

/// The choice of a net that has none.
NetChoice impossibleChoice(uint64_t steps);

/// See greedy() and uniform(). For complete nets; the result may be
/// impossible.
std::vector<uint32_t> greedySignatures(const NetView &view);
std::vector<uint32_t> uniformSignatures(const Net &net, uint8_t schema);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_NETVIEW_H
