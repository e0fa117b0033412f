// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The decoder: one walk over a message's tables. What LENIENT takes is what Apache Kafka takes from a client.

#include <bit>

#include "wire/codec.h"
#include "wire/message.h"
#include "wire/utf8.h"

namespace castellan::wire {
namespace {

constexpr int32_t string_size_max = 32767;
// What elements may take in memory: an empty string is one byte in a frame and 32 in memory, so a frame of 100 MB could
// ask for gigabytes. No message that means something comes near to this.
constexpr size_t memory_free = size_t{64} << 20;
constexpr size_t memory_per_byte = 8;

size_t fixed_size(FieldKind kind) {
  switch (kind) {
    case FieldKind::BOOL:
    case FieldKind::INT8: return 1;
    case FieldKind::INT16:
    case FieldKind::UINT16: return 2;
    case FieldKind::INT32:
    case FieldKind::UINT32: return 4;
    case FieldKind::INT64:
    case FieldKind::FLOAT64: return 8;
    case FieldKind::UUID: return 16;
    default: return 0;
  }
}

class Decoder {
 public:
  Decoder(const MessageInfo& info, int16_t version, Reader& reader)
      : info_(info),
        reader_(reader),
        version_(version),
        flexible_(info.is_flexible(version)),
        memory_left_(memory_free + memory_per_byte * reader.remaining()) {}

  Result<void> run(void* message) {
    if (!info_.valid.contains(version_))
      return fail(ErrorCode::UNSUPPORTED_VERSION, "{} has no version {}; it has {} to {}", info_.name, version_, info_.valid.first,
                  info_.valid.last);
    if (read_struct(*info_.root, message)) return {};
    return fail(ErrorCode::INVALID_REQUEST, "cannot read {} version {}: {}: {} (at byte {})", info_.name, version_, path_, problem_,
                reader_.position());
  }

 private:
  template <class T>
  static T& at(void* value) {
    return *static_cast<T*>(value);
  }

  bool wrong(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool ended() { return wrong("the bytes end here"); }

  bool charge(size_t size) {
    if (size > memory_left_) return wrong("its elements take far more memory than its bytes");
    memory_left_ -= size;
    return true;
  }

  // On the way out of a failure: builds "topics[2].name" from its end.
  bool failed_in(std::string_view name) {
    path_ = path_.empty() || path_.front() == '[' ? fmt::format("{}{}", name, path_) : fmt::format("{}.{}", name, path_);
    return false;
  }

  bool read_struct(const StructInfo& structure, void* object) {
    for (const auto& field : structure.fields)
      if (!field.tagged && field.versions.contains(version_) && !read_field(field, object)) return failed_in(field.name);
    return !flexible_ || read_tagged_fields(structure, object) || failed_in("taggedFields");
  }

  bool read_tagged_fields(const StructInfo& structure, void* object) {
    auto& unknown = at<std::vector<RawTaggedField>>(static_cast<std::byte*>(object) + structure.unknown_tagged_fields);
    unknown.clear();
    uint32_t count;
    if (!reader_.get_varint(count)) return wrong("no count of tagged fields");
    int64_t last = -1;
    // Kafka counts in a signed integer: a count of 2^31 or more is none.
    for (int32_t left = static_cast<int32_t>(count); left > 0; --left) {
      uint32_t tag, size;
      if (!reader_.get_varint(tag) || !reader_.get_varint(size)) return ended();
      if (reader_.strict() && tag <= last) return wrong(fmt::format("tag {} comes after tag {}", tag, last));
      last = tag;
      if (const FieldInfo* field = find_tagged(structure, tag)) {
        if (!field->versions.contains(version_)) return wrong(fmt::format("tag {} is not valid in this version", tag));
        const size_t start = reader_.position();
        if (!read_field(*field, object)) return failed_in(field->name);
        if (reader_.strict() && reader_.position() - start != size)
          return wrong(fmt::format("tag {} is {} bytes long, not {}", tag, reader_.position() - start, size));
      } else {
        BytesView view;
        if (!reader_.get_view(size, view)) return ended();
        if (!charge(sizeof(RawTaggedField))) return false;
        unknown.push_back({tag, to_bytes(view)});
      }
    }
    return true;
  }

  static const FieldInfo* find_tagged(const StructInfo& structure, uint32_t tag) {
    for (const uint16_t index : structure.tagged)
      if (structure.fields[index].tag == tag) return &structure.fields[index];
    return nullptr;
  }

  bool read_field(const FieldInfo& field, void* object) {
    void* place = static_cast<std::byte*>(object) + field.offset;
    const bool nullable = field.nullable.contains(version_);
    const bool compact = flexible_ && !field.never_flexible;
    if (!field.vector && field.kind == FieldKind::STRUCT) {
      if (nullable) {
        bool there;
        if (!read_presence(field, there)) return false;
        if (!there) return set_null(field, place);
      }
      return read_struct(*field.structure, field.optional ? field.optional->emplace(place) : place);
    }
    if (!field.vector && fixed_size(field.kind) != 0) return read_fixed(field.kind, place);

    int32_t length;
    const bool is_string = !field.vector && field.kind == FieldKind::STRING;
    if (!read_length(compact, is_string, length)) return ended();
    if (length < 0) {
      if (!nullable) return wrong("it is null, which this version does not allow");
      if (length != -1 && reader_.strict()) return wrong(fmt::format("the length is {}", length));
      return set_null(field, place);
    }
    if (field.optional) place = field.optional->emplace(place);
    if (field.vector) return read_array(field, place, static_cast<size_t>(length), compact);
    return read_variable(field.kind, place, length);
  }

  bool read_presence(const FieldInfo& field, bool& there) {
    if (field.tagged) {
      uint32_t value;
      if (!reader_.get_varint(value)) return ended();
      if (reader_.strict() && value > 1) return wrong(fmt::format("the presence is {}, not 0 or 1", value));
      there = static_cast<int32_t>(value) > 0;
    } else {
      int8_t value;
      if (!reader_.get(value)) return ended();
      if (reader_.strict() && value != 1 && value != -1) return wrong(fmt::format("the presence is {}, not 1 or -1", value));
      there = value >= 0;
    }
    return true;
  }

  bool set_null(const FieldInfo& field, void* place) {
    if (field.optional) {
      field.optional->reset(place);
    } else {
      at<Records>(place) = Records{};
    }
    return true;
  }

  bool read_length(bool compact, bool is_string, int32_t& length) {
    if (compact) {
      uint32_t value;
      if (!reader_.get_varint(value)) return false;
      length = static_cast<int32_t>(value - 1);
      return true;
    }
    if (!is_string) return reader_.get(length);
    int16_t value;
    if (!reader_.get(value)) return false;
    length = value;
    return true;
  }

  bool read_array(const FieldInfo& field, void* vector, size_t count, bool compact) {
    const auto& operations = *field.vector;
    if (operations.count(vector) != 0) operations.resize(vector, 0);   // a tagged field that came twice: the last one counts
    const size_t size = fixed_size(field.kind);
    // Every element takes at least a byte; Kafka refuses a count above the bytes left in any case.
    if (count > reader_.remaining() || (size != 0 && count > reader_.remaining() / size))
      return wrong(fmt::format("it claims {} elements, but {} bytes are left", count, reader_.remaining()));
    if (size != 0) {
      std::byte* element = operations.resize(vector, count);
      for (size_t i = 0; i < count; ++i, element += operations.element_size)
        if (!read_fixed(field.kind, element)) return failed_in(fmt::format("[{}]", i));
      return true;
    }
    for (size_t i = 0; i < count; ++i) {
      if (!charge(operations.element_size)) return false;
      void* element = operations.append(vector);
      if (field.kind == FieldKind::STRUCT) {
        if (!read_struct(*field.structure, element)) return failed_in(fmt::format("[{}]", i));
        continue;
      }
      int32_t length;
      if (!read_length(compact, field.kind == FieldKind::STRING, length)) return ended() || failed_in(fmt::format("[{}]", i));
      if (length < 0) return wrong("an element is null") || failed_in(fmt::format("[{}]", i));
      if (!read_variable(field.kind, element, length)) return failed_in(fmt::format("[{}]", i));
    }
    return true;
  }

  bool read_variable(FieldKind kind, void* place, int32_t length) {
    if (kind == FieldKind::STRING && length > string_size_max) return wrong(fmt::format("a string of {} bytes; 32767 is the limit", length));
    BytesView view;
    if (!reader_.get_view(static_cast<size_t>(length), view))
      return wrong(fmt::format("it claims {} bytes, but {} are left", length, reader_.remaining()));
    if (kind == FieldKind::STRING) {
      if (is_utf8(view)) {
        at<std::string>(place).assign(as_text(view));
      } else if (reader_.strict()) {
        return wrong("it is not UTF-8");
      } else {
        at<std::string>(place) = replace_bad_utf8(view);
      }
    } else if (kind == FieldKind::BYTES) {
      at<Bytes>(place).assign(view.begin(), view.end());
    } else {
      at<Records>(place) = Records::of(view);
    }
    return true;
  }

  bool read_fixed(FieldKind kind, void* place) {
    bool there = false;
    switch (kind) {
      case FieldKind::BOOL: {
        uint8_t value = 0;
        there = reader_.get(value);
        at<bool>(place) = value != 0;
        break;
      }
      case FieldKind::INT8: there = reader_.get(at<int8_t>(place)); break;
      case FieldKind::INT16: there = reader_.get(at<int16_t>(place)); break;
      case FieldKind::UINT16: there = reader_.get(at<uint16_t>(place)); break;
      case FieldKind::INT32: there = reader_.get(at<int32_t>(place)); break;
      case FieldKind::UINT32: there = reader_.get(at<uint32_t>(place)); break;
      case FieldKind::INT64: there = reader_.get(at<int64_t>(place)); break;
      case FieldKind::FLOAT64: {
        uint64_t value = 0;
        there = reader_.get(value);
        at<double>(place) = std::bit_cast<double>(value);
        break;
      }
      case FieldKind::UUID: there = reader_.get_uuid(at<Uuid>(place)); break;
      default: break;
    }
    return there || ended();
  }

  const MessageInfo& info_;
  Reader& reader_;
  const int16_t version_;
  const bool flexible_;
  size_t memory_left_;
  std::string problem_;
  std::string path_;
};

}  // namespace

Result<void> decode_message(const MessageInfo& info, void* message, int16_t version, Reader& reader) {
  return Decoder(info, version, reader).run(message);
}

}  // namespace castellan::wire
