//===- Attention.h - The core of all kinds of attention ---------*- C++ -*-===//
//
// Heads are a dimension of their own here: [batch, heads, length, size].
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_OPS_ATTENTION_H
#define NNV12_COMPILER_IMPORT_OPS_ATTENTION_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// [batch, length, heads * size] as [batch, heads, length, size]. `what` names
/// where the number of heads comes from.
Value splitHeads(Node &n, Value x, int64_t heads, const char *what);
/// The reverse.
Value joinHeads(Node &n, Value x);

/// Several query heads share one key or value head: repeats each.
Value repeatHeads(Node &n, Value x, int64_t heads);

/// A query at position p sees key j if low <= p - j <= high; a null bound sees
/// all.
struct Band {
  std::optional<int64_t> low, high;
  bool isBounded() const { return low || high; }
  bool has(int64_t distance) const {
    return (!low || distance >= *low) && (!high || distance <= *high);
  }
};

/// Whether each query may see each key, as bools that broadcast to [batch,
/// heads, steps, keys]; null where all may. `valid` is null, or the number of
/// keys in each batch that are no padding [batch]: the last query then stands
/// at the last of them. Else `past` keys lie before the first query.
Value visibleKeys(Node &n, const Band &band, int64_t steps, int64_t keys,
                  int64_t past, Value valid);

/// q times the transpose of k, times scale. Half precision is computed in
/// float32, so that the product needs no scaling before, and the scale itself
/// is not rounded.
Value scaledScores(Node &n, Value q, Value k, double scale);

/// softcap * tanh(scores / softcap); the scores for zero.
Value softCapped(Node &n, Value scores, double softcap);

/// Pairs of the first numbers of a head are turned by the angles whose cosines
/// and sines are given [batch, length, half as many as are turned]; the rest of
/// the head stays. A pair are neighbours, if `interleaved`, else one of each
/// half.
Value turned(Node &n, Value x, Value cosines, Value sines, bool interleaved);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_ATTENTION_H
