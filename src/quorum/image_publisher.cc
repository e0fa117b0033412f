// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/image_publisher.h"

#include <algorithm>

namespace castellan::quorum {

ImagePublisher::ImagePublisher(Executor& executor, std::function<void()> applied) : executor_(executor), applied_(std::move(applied)) {}

void ImagePublisher::publish(ImagePtr image) {
  std::vector<ImagePtr> let_go;  // freed outside the lock, on this thread
  const std::lock_guard lock(mutex_);
  held_.push_back(std::exchange(latest_, image));
  for (const auto& [reader, applied] : readers_) reader->set(image);
  while (!held_.empty() && held_.front().use_count() == 1) {
    let_go.push_back(std::move(held_.front()));
    held_.pop_front();
  }
}

ImagePtr ImagePublisher::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void ImagePublisher::add(ImageReader* reader) {
  {
    const std::lock_guard lock(reader->mutex_);
    reader->on_applied_ = [this, reader](Offset last_offset) { on_applied(reader, last_offset); };
  }
  const std::lock_guard lock(mutex_);
  readers_.emplace(reader, Offset{-2});
  reader->set(latest_);
}

void ImagePublisher::remove(ImageReader* reader) {
  {
    const std::lock_guard lock(mutex_);
    readers_.erase(reader);
  }
  {
    const std::lock_guard lock(reader->mutex_);
    reader->on_applied_ = nullptr;
  }
  executor_.post(applied_);
}

bool ImagePublisher::all_at(Offset last_offset) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(readers_, [&](const auto& reader) { return reader.second >= last_offset; });
}

void ImagePublisher::on_applied(ImageReader* reader, Offset last_offset) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = readers_.find(reader);
    if (found == readers_.end() || found->second >= last_offset) return;
    found->second = last_offset;
  }
  executor_.post(applied_);
}

}  // namespace castellan::quorum
