// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "cli/storage/scram.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>

#include "base/check.h"
#include "wire/messages/user_scram_credential_record.h"

namespace castellan::cli {
namespace {

// The mechanism numbers are on disk.
struct Mechanism {
  std::string_view name;
  int8_t type;
  const EVP_MD* (*digest)();
};
constexpr Mechanism mechanisms[] = {{"SCRAM-SHA-256", 1, EVP_sha256}, {"SCRAM-SHA-512", 2, EVP_sha512}};
constexpr int iterations_min = 4096;
constexpr int iterations_max = 16384;
constexpr size_t salt_size = 24;

Bytes hmac(const Mechanism& mechanism, BytesView key, std::string_view text) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  const uint8_t* done = HMAC(mechanism.digest(), key.data(), static_cast<int>(key.size()), as_bytes(text).data(), text.size(), out.data(), &size);
  CHECK(done != nullptr, "HMAC failed");
  out.resize(size);
  return out;
}

Bytes hash(const Mechanism& mechanism, BytesView bytes) {
  Bytes out(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, mechanism.digest(), nullptr) == 1, "digest failed");
  out.resize(size);
  return out;
}

Bytes salted_password(const Mechanism& mechanism, std::string_view password, BytesView salt, int iterations) {
  Bytes out(EVP_MD_get_size(mechanism.digest()));
  CHECK(PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), salt.data(), static_cast<int>(salt.size()), iterations, mechanism.digest(),
                          static_cast<int>(out.size()), out.data()) == 1, "PBKDF2 failed");
  return out;
}

// Standard base64 as Java's decoder takes it: padding may be missing, nothing else may be wrong.
std::optional<Bytes> decode_base64(std::string_view text) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  if (text.size() % 4 == 1 || (padding > 0 && (text.size() + padding) % 4 != 0)) return std::nullopt;
  Bytes out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<uint8_t>(bits >> count));
    }
  }
  return out;
}

using Components = std::map<std::string, std::string>;

Result<Components> split_components(std::string_view text) {
  Components components;
  do {
    size_t comma = text.find(',');
    std::string_view component = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    size_t equals = component.find('=');
    if (equals == std::string_view::npos) return fail(ErrorCode::INVALID_CONFIG, "No equals sign found in SCRAM component: {}", component);
    std::string_view value = component.substr(equals + 1);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) value = value.substr(1, value.size() - 2);
    components.insert_or_assign(std::string(component.substr(0, equals)), std::string(value));
  } while (!text.empty());
  return components;
}

std::optional<std::string> take(Components& components, const std::string& name) {
  auto node = components.extract(name);
  if (!node) return std::nullopt;
  return std::move(node.mapped());
}

}  // namespace

Result<wire::UserScramCredentialRecord> parse_scram_argument(std::string_view text, io::Entropy& entropy) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail(ErrorCode::INVALID_CONFIG, "Failed to find equals sign in SCRAM argument '{}'", text);
  const Mechanism* mechanism = nullptr;
  for (const Mechanism& one : mechanisms) {
    if (one.name == text.substr(0, equals)) mechanism = &one;
  }
  if (!mechanism) return fail(ErrorCode::INVALID_CONFIG, "The add-scram mechanism {} is not supported.", text.substr(0, equals));
  std::string_view list = text.substr(equals + 1);
  if (!list.starts_with('[')) return fail(ErrorCode::INVALID_CONFIG, "Expected configuration string to start with [");
  if (!list.ends_with(']')) return fail(ErrorCode::INVALID_CONFIG, "Expected configuration string to end with ]");
  TRY(Components components, split_components(list.substr(1, list.size() - 2)));

  wire::UserScramCredentialRecord record;
  record.mechanism = mechanism->type;
  auto name = take(components, "name");
  if (!name) return fail(ErrorCode::INVALID_CONFIG, "You must supply 'name' to add-scram");
  record.name = std::move(*name);
  auto salt = take(components, "salt");
  if (salt) {
    auto decoded = decode_base64(*salt);
    if (!decoded) return fail(ErrorCode::INVALID_CONFIG, "Failed to decode given salt: {}", *salt);
    record.salt = std::move(*decoded);
  } else {
    for (size_t i = 0; i < salt_size; i += 8) {
      uint64_t random = entropy.next();
      for (int byte = 0; byte < 8; ++byte) record.salt.push_back(static_cast<uint8_t>(random >> 8 * byte));
    }
  }
  record.iterations = iterations_min;
  if (auto iterations = take(components, "iterations")) {
    auto [end, error] = std::from_chars(iterations->data(), iterations->data() + iterations->size(), record.iterations);
    if (error != std::errc() || end != iterations->data() + iterations->size()) {
      return fail(ErrorCode::INVALID_CONFIG, "Failed to parse iterations count: {}", *iterations);
    }
  }
  auto password = take(components, "password");
  auto salted = take(components, "saltedpassword");
  if (!password && !salted) return fail(ErrorCode::INVALID_CONFIG, "You must supply one of 'password' or 'saltedpassword' to add-scram");
  if (!password && !salt) return fail(ErrorCode::INVALID_CONFIG, "You must supply 'salt' with 'saltedpassword' to add-scram");
  if (!components.empty()) {
    std::vector<std::string> unknown;
    for (const auto& [key, value] : components) unknown.push_back(key);
    return fail(ErrorCode::INVALID_CONFIG, "Unknown SCRAM configurations: {}", fmt::join(unknown, ", "));
  }
  if (record.iterations < iterations_min) {
    return fail(ErrorCode::INVALID_CONFIG, "The 'iterations' value must be >= {} for add-scram using {}", iterations_min, mechanism->name);
  }
  if (record.iterations > iterations_max) {
    return fail(ErrorCode::INVALID_CONFIG, "The 'iterations' value must be <= {} for add-scram using {}", iterations_max, mechanism->name);
  }
  Bytes key;
  if (password) {  // it wins over a salted one, as in Kafka
    key = salted_password(*mechanism, *password, record.salt, record.iterations);
  } else {
    auto decoded = decode_base64(*salted);
    if (!decoded) return fail(ErrorCode::INVALID_CONFIG, "Failed to decode given saltedPassword: {}", *salted);
    key = std::move(*decoded);
  }
  record.stored_key = hash(*mechanism, hmac(*mechanism, key, "Client Key"));
  record.server_key = hmac(*mechanism, key, "Server Key");
  return record;
}

}  // namespace castellan::cli
