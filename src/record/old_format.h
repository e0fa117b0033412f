// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Messages of formats 0 and 1, which Apache Kafka wrote before 0.11 and still serves from old segments as they lie there. Nothing here
// makes them or looks into them: what a log needs is where each ends, its offset, its timestamp and whether it is whole.
//
//   offset int64, size int32, crc uint32 (CRC-32 of what follows), magic int8, attributes int8, [format 1: timestamp int64],
//   key bytes, value bytes
//
// A compressed message holds others in its value; its offset is that of the last of them.

#pragma once

#include <array>
#include <optional>

#include "record/batch.h"

namespace castellan::record {

inline constexpr size_t old_header_size = 18;       // up to and with the attributes
inline constexpr size_t old_message_size_min = 26;  // format 0, no key, no value
inline constexpr size_t old_prefix_wanted = 26;     // enough for old_header: the timestamp of format 1 too

inline bool is_old_magic(int8_t magic) { return magic == 0 || magic == 1; }
// The bytes lie in an old message, not in a batch.
inline bool is_old(const BatchView& batch) { return is_old_magic(batch.magic()); }

// The message's header in the place of a batch's, for a BatchView: one record without producer and epoch. Its magic stays what it
// is, so that whoever reads records can tell. `bytes` begin with an old message; nothing when they are too few.
std::optional<std::array<uint8_t, batch_header_size>> old_header(BytesView bytes);

// `bytes` begin with the whole message.
bool old_checksum_valid(BytesView message);

}  // namespace castellan::record
