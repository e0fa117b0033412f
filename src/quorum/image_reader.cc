// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/image_reader.h"

#include "image/image.h"

namespace castellan::quorum {

ImagePtr ImageReader::take() {
  const std::lock_guard lock(mutex_);
  told_ = false;
  return std::exchange(latest_, nullptr);
}

void ImageReader::applied(const image::Image& image) {
  std::function<void(Offset)> tell;
  {
    const std::lock_guard lock(mutex_);
    tell = on_applied_;
  }
  if (tell) tell(image.last_offset);
}

void ImageReader::set(ImagePtr image) {
  bool tell = false;
  ImagePtr before;  // freed outside the lock
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(latest_, std::move(image));
    tell = !std::exchange(told_, true);
  }
  if (tell) news_();
}

}  // namespace castellan::quorum
