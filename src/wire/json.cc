// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "wire/json.h"

#include "wire/message.h"

namespace castellan::wire {
namespace {

using Json = nlohmann::ordered_json;

class JsonWriter {
 public:
  JsonWriter(const MessageInfo& info, int16_t version, RecordsInJson records) : info_(info), version_(version), records_(records) {}

  Result<Json> run(const void* message) {
    if (!info_.valid.contains(version_)) return fail(ErrorCode::UNSUPPORTED_VERSION, "{} has no version {}", info_.name, version_);
    return write_struct(*info_.root, message);
  }

 private:
  template <class T>
  static const T& at(const void* value) {
    return *static_cast<const T*>(value);
  }

  Result<Json> write_struct(const StructInfo& structure, const void* object) {
    Json json = Json::object();
    for (const auto& field : structure.fields) {
      if (!field.versions.contains(version_)) {
        if (!field.ignorable && !is_default(field, object))
          return fail(ErrorCode::UNSUPPORTED_VERSION, "{} version {}: {} is set, but this version cannot carry it", info_.name, version_, field.name);
        continue;
      }
      if (field.tagged && is_default(field, object)) continue;
      const void* value = static_cast<const std::byte*>(object) + field.offset;
      if (field.kind == FieldKind::RECORDS && records_ == RecordsInJson::SIZE && !at<Records>(value).is_null) {
        json[fmt::format("{}SizeInBytes", field.name)] = at<Records>(value).size();
        continue;
      }
      TRY(json[std::string(field.name)], write_field(field, value));
    }
    return json;
  }

  Result<Json> write_field(const FieldInfo& field, const void* value) {
    if (field.optional) value = field.optional->get(value);
    if (value == nullptr || (field.kind == FieldKind::RECORDS && at<Records>(value).is_null)) {
      if (!field.nullable.contains(version_))
        return fail(ErrorCode::INVALID_REQUEST, "{} version {}: {} is null, which this version does not allow", info_.name, version_, field.name);
      return Json(nullptr);
    }
    if (!field.vector) return write_value(field, value);
    Json array = Json::array();
    const std::byte* element = field.vector->data(value);
    for (size_t i = 0, count = field.vector->count(value); i < count; ++i, element += field.vector->element_size) {
      TRY(auto each, write_value(field, element));
      array.push_back(std::move(each));
    }
    return array;
  }

  Result<Json> write_value(const FieldInfo& field, const void* value) {
    switch (field.kind) {
      case FieldKind::BOOL: return Json(at<bool>(value));
      case FieldKind::INT8: return Json(at<int8_t>(value));
      case FieldKind::INT16: return Json(at<int16_t>(value));
      case FieldKind::UINT16: return Json(at<uint16_t>(value));
      case FieldKind::INT32: return Json(at<int32_t>(value));
      case FieldKind::UINT32: return Json(at<uint32_t>(value));
      case FieldKind::INT64: return Json(at<int64_t>(value));
      case FieldKind::FLOAT64: return Json(at<double>(value));
      case FieldKind::UUID: return Json(at<Uuid>(value).text());
      case FieldKind::STRING: return Json(at<std::string>(value));
      case FieldKind::BYTES: return Json(to_base64(at<Bytes>(value)));
      case FieldKind::RECORDS: return Json("");
      case FieldKind::STRUCT: return write_struct(*field.structure, value);
    }
    return Json(nullptr);
  }

  const MessageInfo& info_;
  const int16_t version_;
  const RecordsInJson records_;
};

bool from_base64(std::string_view text, Bytes& bytes) {
  while (text.ends_with('=')) text.remove_suffix(1);
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    int digit;
    if (c >= 'A' && c <= 'Z') digit = c - 'A';
    else if (c >= 'a' && c <= 'z') digit = c - 'a' + 26;
    else if (c >= '0' && c <= '9') digit = c - '0' + 52;
    else if (c == '+') digit = 62;
    else if (c == '/') digit = 63;
    else return false;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) bytes.push_back(static_cast<uint8_t>(group >> (bits -= 8)));
  }
  return text.size() % 4 != 1;
}

class JsonReader {
 public:
  JsonReader(const MessageInfo& info, int16_t version) : info_(info), version_(version) {}

  Result<void> run(const Json& json, void* message) {
    if (!info_.valid.contains(version_)) return fail(ErrorCode::UNSUPPORTED_VERSION, "{} has no version {}", info_.name, version_);
    return read_struct(*info_.root, json, message);
  }

 private:
  Result<void> read_struct(const StructInfo& structure, const Json& json, void* object) {
    if (!json.is_object()) return fail(ErrorCode::INVALID_REQUEST, "{}: expected an object, but got {}", structure.name, json.type_name());
    for (const auto& field : structure.fields) {
      const auto found = json.find(std::string(field.name));
      if (found == json.end()) {
        if (field.versions.contains(version_) && !field.tagged)
          return fail(ErrorCode::INVALID_REQUEST, "{}: unable to locate field '{}', which is mandatory in version {}", structure.name, field.name,
                      version_);
        continue;
      }
      TRY_VOID(read_field(structure, field, *found, static_cast<std::byte*>(object) + field.offset));
    }
    return {};
  }

  Result<void> read_field(const StructInfo& structure, const FieldInfo& field, const Json& json, void* place) {
    const bool variable = field.vector || field.optional || field.kind >= FieldKind::STRING;
    if (variable && json.is_null()) {
      if (!field.nullable.contains(version_)) return wrong(structure, field, "a value that is not null", json);
      if (field.optional) field.optional->reset(place);
      return {};
    }
    if (field.optional) place = field.optional->emplace(place);
    if (!field.vector) return read_value(structure, field, json, place);
    if (!json.is_array()) return wrong(structure, field, "an array", json);
    for (const auto& element : json) TRY_VOID(read_value(structure, field, element, field.vector->append(place)));
    return {};
  }

  Result<void> read_value(const StructInfo& structure, const FieldInfo& field, const Json& json, void* place) {
    switch (field.kind) {
      case FieldKind::BOOL:
        if (!json.is_boolean()) return wrong(structure, field, "true or false", json);
        *static_cast<bool*>(place) = json.get<bool>();
        return {};
      case FieldKind::INT8: return read_integer<int8_t>(structure, field, json, place);
      case FieldKind::INT16: return read_integer<int16_t>(structure, field, json, place);
      case FieldKind::UINT16: return read_integer<uint16_t>(structure, field, json, place);
      case FieldKind::INT32: return read_integer<int32_t>(structure, field, json, place);
      case FieldKind::UINT32: return read_integer<uint32_t>(structure, field, json, place);
      case FieldKind::INT64: return read_integer<int64_t>(structure, field, json, place);
      case FieldKind::FLOAT64:
        if (!json.is_number()) return wrong(structure, field, "a number", json);
        *static_cast<double*>(place) = json.get<double>();
        return {};
      case FieldKind::UUID: {
        if (!json.is_string()) return wrong(structure, field, "an id", json);
        TRY(*static_cast<Uuid*>(place), Uuid::parse(json.get_ref<const std::string&>()));
        return {};
      }
      case FieldKind::STRING:
        if (!json.is_string()) return wrong(structure, field, "a string", json);
        *static_cast<std::string*>(place) = json.get_ref<const std::string&>();
        return {};
      case FieldKind::BYTES:
      case FieldKind::RECORDS: {
        Bytes bytes;
        if (!json.is_string() || !from_base64(json.get_ref<const std::string&>(), bytes)) return wrong(structure, field, "base64", json);
        if (field.kind == FieldKind::BYTES) {
          *static_cast<Bytes*>(place) = std::move(bytes);
        } else {
          *static_cast<Records*>(place) = Records::of_bytes(std::move(bytes));
        }
        return {};
      }
      case FieldKind::STRUCT: return read_struct(*field.structure, json, place);
    }
    return {};
  }

  template <class T>
  Result<void> read_integer(const StructInfo& structure, const FieldInfo& field, const Json& json, void* place) {
    const int64_t value = json.is_number_integer() ? json.get<int64_t>() : 0;
    const bool fits = json.is_number_integer() && value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
                      value <= static_cast<int64_t>(std::numeric_limits<T>::max()) &&
                      !(json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
    if (!fits) return wrong(structure, field, fmt::format("an integer of {} bits", sizeof(T) * 8), json);
    *static_cast<T*>(place) = static_cast<T>(value);
    return {};
  }

  Result<void> wrong(const StructInfo& structure, const FieldInfo& field, std::string_view expected, const Json& json) {
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 60) + "...";
    return fail(ErrorCode::INVALID_REQUEST, "{}: field '{}' expects {}, but got {}", structure.name, field.name, expected, text);
  }

  const MessageInfo& info_;
  const int16_t version_;
};

}  // namespace

Result<Json> message_to_json(const MessageInfo& info, const void* message, int16_t version, RecordsInJson records) {
  return JsonWriter(info, version, records).run(message);
}

Result<void> message_from_json(const MessageInfo& info, const Json& json, int16_t version, void* message) {
  return JsonReader(info, version).run(json, message);
}

std::string upper_snake_case(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !text.empty()) text += '_';
    text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

Result<Json> metadata_record_to_json(const DecodedMetadataRecord& record) {
  const MessageInfo& info = info_of(record.record);
  Json json = Json::object();
  json["type"] = upper_snake_case(info.name);
  json["version"] = record.version;
  TRY(json["data"], message_to_json(info, address_of(record.record), record.version));
  return json;
}

}  // namespace castellan::wire
