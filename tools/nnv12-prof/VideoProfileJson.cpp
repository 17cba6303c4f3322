//===- VideoProfileJson.cpp - Reuse between frames, for programs ----------===//
#include "tools/common/Json.h"
#include "tools/nnv12-prof/VideoProfile.h"

#include <cmath>

namespace nnv12::prof {

using tools::Json;

/// Bytes as pairs of hexadecimal digits: pictures of many layers are large.
static std::string hexOf(const std::vector<uint8_t> &bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

/// Adds a grid whose bytes are parts of 255: how often each pixel counted.
static void addHeat(Json &json, const char *name, const PixelHeat &heat) {
  if (!heat.rows())
    return;
  std::vector<uint8_t> bytes;
  for (uint32_t y = 0; y < heat.rows(); ++y)
    for (uint32_t x = 0; x < heat.columns(); ++x)
      bytes.push_back(uint8_t(std::lround(heat.at(y, x) * 255)));
  json.key(name).beginObject().member("rows", heat.rows());
  json.member("columns", heat.columns());
  json.member("bytes", hexOf(bytes)).endObject();
}

/// Adds the picture in red, green and blue, small enough for a page.
static void addPicture(Json &json, const VideoProfile &profile) {
  constexpr uint32_t most = 160;
  if (profile.picture.empty())
    return;
  uint32_t rows = std::min(profile.rows, most),
           columns = std::min(profile.columns, most);
  auto channels =
      uint32_t(profile.picture.size() / profile.rows / profile.columns);
  std::vector<uint8_t> bytes;
  for (uint32_t y = 0; y < rows; ++y)
    for (uint32_t x = 0; x < columns; ++x)
      for (uint32_t c = 0; c < 3; ++c) {
        uint64_t row = uint64_t(y) * profile.rows / rows,
                 column = uint64_t(x) * profile.columns / columns;
        bytes.push_back(
            profile.picture[(row * profile.columns + column) * channels +
                            std::min(c, channels - 1)]);
      }
  json.key("picture").beginObject().member("rows", rows);
  json.member("columns", columns).member("bytes", hexOf(bytes)).endObject();
}

static void addLayer(Json &json, const VideoLayer &layer) {
  json.member("index", layer.index).member("layer", layer.info.layer);
  json.member("kernel", layer.info.kernel);
  json.member("routine", layer.info.routine).member("parts", layer.parts);
  json.member("plain_us", layer.plain * 1e-3).member("us", layer.time * 1e-3);
  json.member("merging_us", layer.merging * 1e-3);
  json.member("tiles", layer.tiles).member("skipped", layer.skipped);
  json.member("partial", layer.partial).member("whole", layer.whole);
  json.member("computed", hexOf(layer.frames));
  addHeat(json, "pixels", layer.pixels);
}

std::string videoJson(const std::string &path, const Bundle &bundle,
                      const VideoProfile &profile) {
  nnv12_bundle_info info = bundle.info();
  Json json;
  json.beginObject().member("file", path).member("model", info.model);
  json.member("target", info.target).member("threads", profile.threads);
  json.key("video").beginObject().member("clip", profile.clip);
  json.member("width", int64_t(profile.width));
  json.member("height", int64_t(profile.height));
  json.member("lost", profile.lost);
  json.key("count").beginObject();
  for (FrameKind kind : {FrameKind::Reused, FrameKind::Whole, FrameKind::Plain})
    json.member(kindName(kind), profile.count(kind));
  json.endObject();
  json.member("memory_bytes", profile.stream.memory_size);
  json.member("work", profile.stream.computed);
  json.key("mean_us").beginObject();
  json.member("plain", profile.mean(&VideoFrame::plain) * 1e-3);
  json.member("frame", profile.mean(&VideoFrame::time) * 1e-3);
  json.member("matching", profile.mean(&VideoFrame::matching) * 1e-3);
  json.member("merging", profile.mean(&VideoFrame::merging) * 1e-3);
  json.member("operations", profile.mean(&VideoFrame::operations) * 1e-3);
  json.endObject();
  json.member("median_us", profile.median(&VideoFrame::time) * 1e-3);
  json.member("plain_median_us", profile.median(&VideoFrame::plain) * 1e-3);
  json.objects("frames", profile.frames, [&](const VideoFrame &frame) {
    json.member("kind", kindName(frame.kind));
    json.member("us", frame.time * 1e-3).member("plain_us", frame.plain * 1e-3);
    json.member("matching_us", frame.matching * 1e-3);
    json.member("merging_us", frame.merging * 1e-3);
    json.member("changed", frame.changed);
  });
  json.objects("layers", profile.layers,
               [&](const VideoLayer &layer) { addLayer(json, layer); });
  addHeat(json, "input", profile.input);
  addPicture(json, profile);
  json.endObject().endObject();
  return json.text();
}

} // namespace nnv12::prof
