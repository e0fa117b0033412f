// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "log/quorum_state_file.h"

#include "base/planted_fault.h"
#include "wire/json.h"
#include "wire/messages/quorum_state_data.h"

namespace castellan::log {
namespace {

constexpr const char* version_field = "data_version";

}  // namespace

Result<std::optional<QuorumStateFile>> read_quorum_state(const io::FileSystem& files, const std::string& folder) {
  const std::string path = io::join(folder, quorum_state_name);
  const auto bytes = files.read_file(path, 16 << 20);
  if (!bytes) {
    if (io::is_not_found(bytes.error())) return std::nullopt;
    return unexpected(bytes.error());
  }
  const std::string_view text = as_text(*bytes);
  const auto json = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} holds no JSON object; put it back from a copy, or format this voter anew", path);
  if (!json.contains(version_field) || !json[version_field].is_number_integer())
    return fail(ErrorCode::CORRUPT_MESSAGE, "{} has no {}", path, version_field);
  const auto version = json[version_field].get<int64_t>();
  if (version < 0 || version > 1) return fail(ErrorCode::CORRUPT_MESSAGE, "{}: {} is {}, only 0 and 1 are known", path, version_field, version);
  auto data = wire::from_json<wire::QuorumStateData>(json, static_cast<int16_t>(version));
  if (!data) return fail(ErrorCode::CORRUPT_MESSAGE, "{}: {}", path, data.error().message);
  return QuorumStateFile{static_cast<int16_t>(version), std::make_shared<wire::QuorumStateData>(std::move(*data))};
}

Result<void> write_quorum_state(io::FileSystem& files, const std::string& folder, const wire::QuorumStateData& data, int16_t version) {
  auto json = wire::to_json(data, version);
  if (!json) return unexpected(std::move(json).error());
  (*json)[version_field] = version;
  const std::string path = io::join(folder, quorum_state_name);
  const std::string text = json->dump();
  const bool loses = planted(Fault::quorum_state_not_synced) || planted(Fault::directory_not_synced);
  if (!loses) return files.replace_file(path, as_bytes(text));
  TRY(const auto file, files.open(path + ".new", io::OpenMode::create));
  TRY_VOID(file->truncate(0));
  TRY_VOID(file->write_at(0, as_bytes(text)));
  if (planted(Fault::directory_not_synced)) TRY_VOID(file->sync());
  TRY_VOID(files.rename(path + ".new", path));
  return planted(Fault::directory_not_synced) ? Result<void>{} : files.sync_directory(folder);
}

}  // namespace castellan::log
