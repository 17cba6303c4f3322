//===- ReplayMain.cpp - Runs a fuzz target on files, without libFuzzer ----===//
//
// Arguments are files and folders. To crash, or to be stopped by a sanitizer,
// is to fail.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const std::string &path) {
  FILE *file = fopen(path.c_str(), "rb");
  if (!file) {
    perror(path.c_str());
    exit(1);
  }
  std::vector<uint8_t> bytes(std::filesystem::file_size(path));
  size_t size = fread(bytes.data(), 1, bytes.size(), file);
  fclose(file);
  // The copy has the exact size, on the heap: reads beyond it are seen.
  std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::copy_n(bytes.data(), size, copy.get());
  LLVMFuzzerTestOneInput(copy.get(), size);
}

int main(int argc, char **argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::string> files;
    if (!std::filesystem::is_directory(argv[i]))
      files.push_back(argv[i]);
    else
      for (auto &entry : std::filesystem::recursive_directory_iterator(argv[i]))
        if (entry.is_regular_file())
          files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    for (const std::string &file : files)
      replay(file);
    count += files.size();
  }
  printf("%zu inputs\n", count);
  return count ? 0 : 1;
}
