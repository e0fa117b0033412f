// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/acknowledged.h"

#include <charconv>

#include "base/check.h"
#include "base/crc32c.h"

namespace castellan::quorum {
namespace {

bool parse_number(std::string_view text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

// One line: the version 0, sequence, epoch, offset, directory id, cluster id, CRC-32C of what stands before it; spaces; newline.
Bytes AcknowledgedFile::encode(const Place& place) {
  const Acknowledged& in = place.acknowledged;
  std::string text = fmt::format("0 {} {} {} {} {} ", place.sequence, in.position.epoch, in.position.offset, in.directory, in.cluster_id);
  text += fmt::format("{:08x}", crc32c(as_bytes(text)));
  CHECK(text.size() < place_size, "cluster id of {} characters", in.cluster_id.size());
  text.resize(place_size - 1, ' ');
  text += '\n';
  return to_bytes(text);
}

std::optional<AcknowledgedFile::Place> AcknowledgedFile::decode(BytesView bytes) {
  std::string_view text = as_text(bytes);
  const size_t last = text.find_last_not_of(" \n");
  if (last == std::string_view::npos || last < 9) return std::nullopt;
  text = text.substr(0, last + 1);
  const std::string_view covered = text.substr(0, text.size() - 8);
  if (text.substr(covered.size()) != fmt::format("{:08x}", crc32c(as_bytes(covered)))) return std::nullopt;
  std::vector<std::string_view> words;
  for (size_t at = 0; at < covered.size();) {
    const size_t end = std::min(covered.find(' ', at), covered.size());
    words.push_back(covered.substr(at, end - at));
    at = end + 1;
  }
  Place place;
  int64_t epoch = 0, offset = 0;
  if (words.size() != 6 || words[0] != "0" || !parse_number(words[1], place.sequence) || !parse_number(words[2], epoch) ||
      !parse_number(words[3], offset)) {
    return std::nullopt;
  }
  const auto directory = Uuid::parse(words[4]);
  if (!directory) return std::nullopt;
  place.acknowledged = {std::string(words[5]), DirectoryId{*directory}, {Offset{offset}, Epoch{static_cast<int32_t>(epoch)}}};
  return place;
}

Result<std::optional<AcknowledgedFile::Place>> AcknowledgedFile::read_newest() {
  sequence_ = 0;
  if (!files_.exists(path_)) return std::nullopt;
  TRY(const Bytes bytes, files_.read_file(path_, 4096));
  std::optional<Place> newest;
  for (size_t at = 0; at < 2 * place_size && at < bytes.size(); at += place_size) {
    auto place = decode(BytesView(bytes).subspan(at, std::min(place_size, bytes.size() - at)));
    if (place && (!newest || place->sequence > newest->sequence)) newest = std::move(place);
  }
  if (!newest) {
    return fail(ErrorCode::CORRUPT_MESSAGE, "{}: holds no whole record of what this node acknowledged. Remove it only if the metadata log is known to be whole",
                path_);
  }
  sequence_ = newest->sequence;
  return newest;
}

Result<std::optional<Acknowledged>> AcknowledgedFile::read() {
  TRY(auto newest, read_newest());
  if (!newest) return std::nullopt;
  return std::move(newest->acknowledged);
}

Result<void> AcknowledgedFile::write(const Acknowledged& acknowledged) {
  if (!sequence_) TRY_VOID(read_newest());
  const Place place{*sequence_ + 1, acknowledged};
  const Bytes bytes = encode(place);
  if (*sequence_ == 0) {
    // The first: whole and synced, so that there is always one whole place.
    Bytes both = bytes;
    both.resize(2 * place_size, ' ');
    TRY_VOID(files_.replace_file(path_, both));
  } else {
    if (!file_) {
      TRY(file_, files_.open(path_, io::OpenMode::read_write));
    }
    TRY_VOID(file_->write_at(place.sequence % 2 == 1 ? 0 : place_size, bytes));
  }
  sequence_ = place.sequence;
  return {};
}

}  // namespace castellan::quorum
