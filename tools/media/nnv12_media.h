/*===- nnv12_media.h - Images and sound as tensors, for Python ---*- C -*-===//
 *
 * The interface of libnnv12-media, which the Python package calls. It makes
 * the same bytes as nnv12-run does of the same files and settings:
 * docs/tools.md has their meaning. It may change with any version.
 *
 * Functions may be called by several threads at once, allocate and free all
 * that they need, and keep no state. They return 0, or 1 after they have
 * written one line about the fault into `message`, cut to `message_size` bytes
 * with the zero at its end.
 *
 *===----------------------------------------------------------------------===*/
#ifndef NNV12_TOOLS_MEDIA_NNV12_MEDIA_H
#define NNV12_TOOLS_MEDIA_NNV12_MEDIA_H

#include "runtime/include/nnv12.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this file's functions and structs. */
#define NNV12_MEDIA_INTERFACE 1

/* Which interface the library has. */
NNV12_API uint32_t nnv12_media_interface(void);

/* How pixels become numbers, each as the text of the property of that name.
 * NULL: the default. */
typedef struct nnv12_media_image_options {
  const char *scale, *mean, *std, *color, *layout, *fit;
} nnv12_media_image_options;

/* Makes a tensor of the `file_size` bytes of an image file: JPEG, PNG, BMP or
 * PNM. `data` takes the `input->byte_size` bytes of the tensor, which are those
 * of its type and shape. Afterwards they are written whole, or not at all. */
NNV12_API int nnv12_media_read_image(const void *file, size_t file_size,
                                     const nnv12_tensor_info *input,
                                     const nnv12_media_image_options *options,
                                     void *data, char *message,
                                     size_t message_size);

/* Makes a tensor of height x width pixels, row by row, in the same way. A pixel
 * has three bytes: red, green, blue. */
NNV12_API int nnv12_media_read_pixels(const uint8_t *pixels, int64_t height,
                                      int64_t width,
                                      const nnv12_tensor_info *input,
                                      const nnv12_media_image_options *options,
                                      void *data, char *message,
                                      size_t message_size);

/* Finds how many samples each channel of a WAV file has. Refuses a file of
 * another rate than `rate` samples a second, and one without `channel`, -1: the
 * mean of all. */
NNV12_API int nnv12_media_measure_sound(const void *file, size_t file_size,
                                        uint32_t rate, int32_t channel,
                                        uint64_t *num_samples, char *message,
                                        size_t message_size);

/* Writes the first `num_samples` samples of such a file, with zeros behind the
 * last one. */
NNV12_API int nnv12_media_read_sound(const void *file, size_t file_size,
                                     uint32_t rate, int32_t channel,
                                     float *samples, uint64_t num_samples,
                                     char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif /* NNV12_TOOLS_MEDIA_NNV12_MEDIA_H */
