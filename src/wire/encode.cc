// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The encoder: one walk over a message's tables. The rules (nullable, tagged, ignorable) are those of KIP-482 and of
// Kafka's message generator.

#include <bit>

#include "wire/codec.h"
#include "wire/message.h"

namespace castellan::wire {
namespace {

constexpr size_t string_size_max = 32767;

template <class T>
const T& at(const void* value) {
  return *static_cast<const T*>(value);
}

int64_t integer_at(FieldKind kind, const void* value) {
  switch (kind) {
    case FieldKind::BOOL: return at<bool>(value);
    case FieldKind::INT8: return at<int8_t>(value);
    case FieldKind::INT16: return at<int16_t>(value);
    case FieldKind::UINT16: return at<uint16_t>(value);
    case FieldKind::INT32: return at<int32_t>(value);
    case FieldKind::UINT32: return at<uint32_t>(value);
    case FieldKind::INT64: return at<int64_t>(value);
    default: return 0;
  }
}

class Encoder {
 public:
  Encoder(const MessageInfo& info, int16_t version, Writer& writer)
      : info_(info), writer_(writer), version_(version), flexible_(info.is_flexible(version)) {}

  Result<void> run(const void* message) {
    if (!info_.valid.contains(version_))
      return fail(ErrorCode::UNSUPPORTED_VERSION, "{} has no version {}; it has {} to {}", info_.name, version_, info_.valid.first,
                  info_.valid.last);
    if (write_struct(*info_.root, message)) return {};
    return fail(code_, "cannot write {} version {}: {}: {}", info_.name, version_, path_, problem_);
  }

 private:
  static const void* address(const FieldInfo& field, const void* object) { return static_cast<const std::byte*>(object) + field.offset; }

  bool wrong(ErrorCode code, std::string_view problem) {
    code_ = code;
    problem_ = problem;
    return false;
  }

  // On the way out of a failure: builds "topics[2].name" from its end.
  bool failed_in(std::string_view name) {
    path_ = path_.empty() || path_.front() == '[' ? fmt::format("{}{}", name, path_) : fmt::format("{}.{}", name, path_);
    return false;
  }

  bool write_struct(const StructInfo& structure, const void* object) {
    for (const auto& field : structure.fields) {
      if (field.versions.contains(version_)) {
        if (!field.tagged && !write_field(field, object)) return failed_in(field.name);
      } else if (!field.ignorable && !is_default(field, object)) {
        wrong(ErrorCode::UNSUPPORTED_VERSION, "it is set, but this version cannot carry it");
        return failed_in(field.name);
      }
    }
    return write_tagged_fields(structure, object);
  }

  bool write_tagged_fields(const StructInfo& structure, const void* object) {
    const auto& unknown = at<std::vector<RawTaggedField>>(static_cast<const std::byte*>(object) + structure.unknown_tagged_fields);
    if (!flexible_) {
      if (unknown.empty()) return true;
      wrong(ErrorCode::UNSUPPORTED_VERSION, "unknown tagged fields are set, but this version has none");
      return failed_in("taggedFields");
    }
    uint64_t known = 0;   // a bit per entry of structure.tagged; schemac checks that there are at most 64
    for (size_t i = 0; i < structure.tagged.size(); ++i) {
      const auto& field = structure.fields[structure.tagged[i]];
      if (field.versions.contains(version_) && !is_default(field, object)) known |= uint64_t{1} << i;
    }
    writer_.put_varint(static_cast<uint32_t>(std::popcount(known) + unknown.size()));
    size_t next_unknown = 0;
    const auto write_unknown = [&](uint64_t below) {
      for (; next_unknown < unknown.size() && unknown[next_unknown].tag < below; ++next_unknown) {
        writer_.put_varint(unknown[next_unknown].tag);
        writer_.put_varint(static_cast<uint32_t>(unknown[next_unknown].bytes.size()));
        writer_.put_bytes(unknown[next_unknown].bytes);
      }
    };
    for (size_t i = 0; i < structure.tagged.size(); ++i) {
      if (!(known >> i & 1)) continue;
      const auto& field = structure.fields[structure.tagged[i]];
      write_unknown(field.tag);
      writer_.put_varint(field.tag);
      const size_t start = writer_.size();
      if (!write_field(field, object)) return failed_in(field.name);
      writer_.insert_varint(start, static_cast<uint32_t>(writer_.size() - start));
    }
    write_unknown(UINT64_MAX);
    return true;
  }

  bool write_field(const FieldInfo& field, const void* object) {
    const void* value = address(field, object);
    if (field.optional) value = field.optional->get(value);
    const bool compact = flexible_ && !field.never_flexible;
    const bool is_null = value == nullptr || (field.kind == FieldKind::RECORDS && at<Records>(value).is_null);
    if (is_null) {
      if (!field.nullable.contains(version_)) return wrong(ErrorCode::INVALID_REQUEST, "it is null, which this version does not allow");
      write_null(field, compact);
      return true;
    }
    if (!field.vector) {
      // A struct says in front whether it is there: a byte, or, in a tagged field, a varint.
      if (field.kind == FieldKind::STRUCT && field.nullable.contains(version_)) {
        field.tagged ? writer_.put_varint(1) : writer_.put<int8_t>(1);
      }
      return write_value(field, value, compact);
    }
    const size_t count = field.vector->count(value);
    if (count > INT32_MAX - 1) return wrong(ErrorCode::INVALID_REQUEST, "it has too many elements");
    write_length(count, compact);
    const std::byte* element = field.vector->data(value);
    for (size_t i = 0; i < count; ++i, element += field.vector->element_size)
      if (!write_value(field, element, compact)) return failed_in(fmt::format("[{}]", i));
    return true;
  }

  void write_null(const FieldInfo& field, bool compact) {
    if (!field.vector && field.kind == FieldKind::STRUCT) {
      field.tagged ? writer_.put_varint(0) : writer_.put<int8_t>(-1);
    } else if (compact) {
      writer_.put_varint(0);
    } else if (!field.vector && field.kind == FieldKind::STRING) {
      writer_.put<int16_t>(-1);
    } else {
      writer_.put<int32_t>(-1);
    }
  }

  void write_length(size_t length, bool compact) {
    if (compact) {
      writer_.put_varint(static_cast<uint32_t>(length + 1));
    } else {
      writer_.put<int32_t>(static_cast<int32_t>(length));
    }
  }

  bool write_value(const FieldInfo& field, const void* value, bool compact) {
    switch (field.kind) {
      case FieldKind::BOOL: writer_.put<int8_t>(at<bool>(value) ? 1 : 0); return true;
      case FieldKind::INT8: writer_.put(at<int8_t>(value)); return true;
      case FieldKind::INT16: writer_.put(at<int16_t>(value)); return true;
      case FieldKind::UINT16: writer_.put(at<uint16_t>(value)); return true;
      case FieldKind::INT32: writer_.put(at<int32_t>(value)); return true;
      case FieldKind::UINT32: writer_.put(at<uint32_t>(value)); return true;
      case FieldKind::INT64: writer_.put(at<int64_t>(value)); return true;
      case FieldKind::FLOAT64: writer_.put(std::bit_cast<uint64_t>(at<double>(value))); return true;
      case FieldKind::UUID: writer_.put_uuid(at<Uuid>(value)); return true;
      case FieldKind::STRING: return write_string(at<std::string>(value), compact);
      case FieldKind::BYTES: {
        const auto& bytes = at<Bytes>(value);
        if (bytes.size() > INT32_MAX - 1) return wrong(ErrorCode::INVALID_REQUEST, "it is longer than 2 GiB");
        write_length(bytes.size(), compact);
        writer_.put_bytes(bytes);
        return true;
      }
      case FieldKind::RECORDS: {
        const auto& records = at<Records>(value);
        const size_t size = records.size();
        if (size > INT32_MAX - 1) return wrong(ErrorCode::INVALID_REQUEST, "it is longer than 2 GiB");
        write_length(size, compact);
        writer_.put_records(records);
        return true;
      }
      case FieldKind::STRUCT: return write_struct(*field.structure, value);
    }
    return true;
  }

  bool write_string(const std::string& text, bool compact) {
    if (text.size() > string_size_max) return wrong(ErrorCode::INVALID_REQUEST, "it is longer than 32767 bytes");
    if (compact) {
      writer_.put_varint(static_cast<uint32_t>(text.size() + 1));
    } else {
      writer_.put(static_cast<int16_t>(text.size()));
    }
    writer_.put_text(text);
    return true;
  }

  const MessageInfo& info_;
  Writer& writer_;
  const int16_t version_;
  const bool flexible_;
  ErrorCode code_ = ErrorCode::INVALID_REQUEST;
  std::string problem_;
  std::string path_;
};

}  // namespace

bool is_default(const FieldInfo& field, const void* object) {
  const void* value = static_cast<const std::byte*>(object) + field.offset;
  if (field.optional) {
    value = field.optional->get(value);
    if (value == nullptr || field.default_null) return (value == nullptr) == field.default_null;
  }
  if (field.vector) return field.vector->count(value) == 0;
  switch (field.kind) {
    case FieldKind::FLOAT64: return at<double>(value) == 0.0;
    case FieldKind::UUID: return at<Uuid>(value).is_zero();
    case FieldKind::STRING: return at<std::string>(value).empty();
    case FieldKind::BYTES: return at<Bytes>(value).empty();
    case FieldKind::RECORDS: return at<Records>(value).is_null;
    case FieldKind::STRUCT: return is_default(*field.structure, value);
    default: return integer_at(field.kind, value) == field.default_number;
  }
}

bool is_default(const StructInfo& structure, const void* object) {
  for (const auto& field : structure.fields)
    if (!is_default(field, object)) return false;
  return at<std::vector<RawTaggedField>>(static_cast<const std::byte*>(object) + structure.unknown_tagged_fields).empty();
}

Result<void> encode_message(const MessageInfo& info, const void* message, int16_t version, Writer& writer) {
  return Encoder(info, version, writer).run(message);
}

Result<size_t> encoded_size_of(const MessageInfo& info, const void* message, int16_t version) {
  Writer writer = Writer::counting();
  TRY_VOID(encode_message(info, message, version, writer));
  return writer.size();
}

}  // namespace castellan::wire
