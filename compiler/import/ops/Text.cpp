//===- Text.cpp - Operators on tokens -------------------------------------===//

#include "compiler/import/OpTable.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
/// The n-grams of one length, [count, n].
struct Pool {
  int64_t n;
  Ints grams;
  int64_t count() const {
    assert(int64_t(grams.size()) % n == 0 && "n-grams are whole");
    return int64_t(grams.size()) / n;
  }
};
} // namespace

/// How often each n-gram of the pool occurs in x [batch, tokens], as float32
/// [batch, count]. With skips, its tokens are apart from each other.
static Value countGrams(Node &n, Value x, const Pool &pool, int64_t maxSkip) {
  int64_t batch = n.dim(x, 0), tokens = n.dim(x, 1), count = pool.count();
  Value total = n.splat({batch, count}, n.f32(), 0);
  Value grams = n.ints({count, pool.n}, pool.grams);
  // Single tokens know no skips.
  for (int64_t skip = 0; skip <= (pool.n == 1 ? 0 : maxSkip); ++skip) {
    int64_t step = skip + 1, windows = tokens - (pool.n - 1) * step;
    if (windows <= 0 || n.failed())
      break;
    if (!n.type({batch, windows, count, pool.n}, n.f32()))
      break;
    Ints indices(windows * pool.n);
    for (int64_t i = 0; i < windows * pool.n; ++i)
      indices[i] = i / pool.n + i % pool.n * step;
    Value seen = n.gather(x, n.ints({windows, 1, pool.n}, indices), 1);
    Value same = n.cast(n.binary(BinaryKind::equal, seen, grams), n.f32());
    Value found = n.reduce(ReduceKind::min, same, {3}, false);
    total = n.add(total, n.reduce(ReduceKind::sum, found, {1}, false));
  }
  return total;
}

static void tfIdfVectorizer(Node &n) {
  Value x = n.in(0);
  unsigned mode = n.choice("mode", "", {"TF", "IDF", "TFIDF"});
  int64_t shortest = n.intAttr("min_gram_length");
  int64_t longest = n.intAttr("max_gram_length");
  int64_t maxSkip = n.intAttr("max_skip_count");
  Ints starts = n.intsAttr("ngram_counts"),
       columns = n.intsAttr("ngram_indexes");
  Ints tokens = n.intsAttr("pool_int64s");
  Doubles weights = n.floatsAttr("weights", Doubles(columns.size(), 1));
  if (n.failed())
    return;
  if (n.hasAttr("pool_strings"))
    return n.fail("pool_strings", "pool_int64s");
  bool isVector = n.rank(x) == 1;
  if (!n.expectRank(x, 1, 2, "an input"))
    return;
  if (shortest < 1 || longest < shortest || longest > 1024 || maxSkip < 0 ||
      maxSkip > (1 << 20) || int64_t(starts.size()) < longest ||
      weights.size() != columns.size())
    return n.fail("n-grams of " + Twine(shortest) + " to " + Twine(longest),
                  "ngram_counts for each length, and one weight an n-gram");
  int64_t width = 0;
  for (int64_t c : columns) {
    if (c < 0 || c > (int64_t(1) << 31))
      return n.fail("ngram_indexes " + str(columns), "columns");
    width = std::max(width, c + 1);
  }
  if (!n.type({n.rank(x) == 2 ? n.dim(x, 0) : 1, width}, n.i64()))
    return;
  x = n.cast(x, n.i64());
  if (isVector)
    x = n.unsqueeze(x, {0});

  // The pool lists all n-grams by length; columns and weights follow its order.
  Values counts;
  int64_t first = 0;
  SmallVector<int64_t> sources(width, -1);
  int64_t gathered = 0;
  Doubles factors;
  for (int64_t length = 1; length <= int64_t(starts.size()); ++length) {
    int64_t begin = starts[length - 1];
    int64_t end = length < int64_t(starts.size()) ? starts[length]
                                                  : int64_t(tokens.size());
    if (begin < 0 || end < begin || end > int64_t(tokens.size()) ||
        (end - begin) % length ||
        first + (end - begin) / length > int64_t(columns.size()))
      return n.fail("ngram_counts " + str(starts),
                    "starts of whole n-grams in pool_int64s");
    Pool pool{length, Ints(tokens.begin() + begin, tokens.begin() + end)};
    bool used = length >= shortest && length <= longest && pool.count() > 0;
    for (int64_t k = 0; used && k < pool.count(); ++k) {
      sources[columns[first + k]] = gathered++;
      factors.push_back(weights[first + k]);
    }
    if (used)
      counts.push_back(countGrams(n, x, pool, maxSkip));
    first += pool.count();
  }
  // One more column of zeros serves the outputs that nothing counts.
  counts.push_back(n.splat({n.dim(x, 0), 1}, n.f32(), 0));
  factors.push_back(0);
  for (int64_t &s : sources)
    s = s < 0 ? gathered : s;
  Value y = n.concat(counts, 1);
  if (mode == 1) // whether it occurs at all
    y = n.cast(n.binary(BinaryKind::greater, y, 0.0), n.f32());
  if (mode != 0)
    y = n.mul(y, n.doubles({int64_t(factors.size())}, n.f32(), factors));
  y = n.gather(y, n.ints(sources), 1);
  n.out(isVector ? n.reshape(y, {width}) : y);
}

OpRows importer::textOps() {
  static const OpRow rows[] = {
      {"TfIdfVectorizer", 9, kInt32 | kInt64, tfIdfVectorizer, "no strings"},
  };
  return rows;
}
