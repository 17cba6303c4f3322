/* Runs one kernel under qemu-aarch64; see KernelTest.cpp for the file's form.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void (*Kernel)(void *const *operands, int64_t begin, int64_t end,
                       void *scratch);

/* Memory that ends at an unreadable page, filled with garbage. */
static char *guarded(size_t size, size_t align, int fill) {
  size_t page = 65536, used = (size + align - 1) / align * align;
  size_t pages = (used + page - 1) / page * page;
  char *base = mmap(NULL, pages + page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    exit(2);
  mprotect(base + pages, page, PROT_NONE);
  memset(base, fill, pages);
  return base + pages - used;
}

int main(int argc, char **argv) {
  FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
  int64_t header[6];
  if (!in || fread(header, sizeof header, 1, in) != 1)
    return 3;
  int64_t codeSize = header[0], entry = header[1], tiles = header[2];
  int64_t results = header[4], count = header[5];
  int64_t *sizes = calloc(count, sizeof *sizes);
  void **table = calloc(count, sizeof *table);
  if (fread(sizes, sizeof *sizes, count, in) != (size_t)count)
    return 3;
  char *code = mmap(NULL, codeSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED || fread(code, 1, codeSize, in) != (size_t)codeSize)
    return 3;
  __builtin___clear_cache(code, code + codeSize);
  for (int64_t i = 0; i < count; ++i) {
    table[i] = guarded(sizes[i], 1, 0x7f);
    if (i >= results && fread(table[i], 1, sizes[i], in) != (size_t)sizes[i])
      return 3;
  }
  Kernel kernel = (Kernel)(code + entry);
  char *scratch = guarded(header[3], 64, 0xff);
  kernel(table, tiles / 3, tiles, scratch);
  kernel(table, 0, tiles / 3, scratch);
  FILE *out = fopen(argv[2], "wb");
  for (int64_t i = 0; out && i < results; ++i)
    fwrite(table[i], 1, sizes[i], out);
  return out && fclose(out) == 0 ? 0 : 4;
}
