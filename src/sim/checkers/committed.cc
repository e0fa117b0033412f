// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/checkers/committed.h"

#include <algorithm>

#include "raft/text.h"
#include "record/reader.h"

namespace castellan::sim {

const LogEntry* Committed::at(int64_t offset) const {
  const auto found = std::ranges::upper_bound(entries_, offset, {}, &LogEntry::end);
  return found != entries_.end() && found->base <= offset ? &*found : nullptr;
}

void Committed::look(const Seen& seen) {
  Life& last = lives_[seen.node];
  if (last.life != seen.life) last = {.life = seen.life};
  const int64_t high_watermark = seen.committed.value;
  if (high_watermark <= last.high_watermark) return;
  const int64_t from = std::exchange(last.high_watermark, high_watermark);
  if (high_watermark > end()) extend(seen, high_watermark);
  compare(seen, from, std::min(high_watermark, end()));
}

// New to everybody: it must be on a majority's disks, and of the epoch of the leader who says so.
void Committed::extend(const Seen& seen, int64_t high_watermark) {
  if (!seen.led()) return report_.violate(name, "node {} takes offset {} for committed, the leader has told {}", seen.node, high_watermark, end());
  const LogEntry* last = seen.log.at(high_watermark - 1);
  if (!last || last->end != high_watermark) return report_.violate(name, "node {} commits to {} without having it", seen.node, high_watermark);
  if (last->epoch != seen.core.epoch().value) {
    report_.violate(name, "node {} leads epoch {} and commits offset {} of epoch {} by counting", seen.node, seen.core.epoch(), high_watermark - 1, last->epoch);
  }
  if (!on_a_majority(seen.core.voters(), *last)) {
    // The same step may have committed this and then written a change of the voters behind it.
    const auto before = voters_at_(seen.log, high_watermark - 1);
    if (!before || !on_a_majority(*before, *last)) {
      report_.violate(name, "node {} commits to {}, which is not on the disks of a majority of the voters {}", seen.node, high_watermark, raft::to_text(seen.core.voters()));
    }
  }
  for (auto entry = std::ranges::lower_bound(seen.log.entries(), end(), {}, &LogEntry::base); entry != seen.log.entries().end() && entry->end <= high_watermark; ++entry) {
    if (entry->base != end()) return report_.violate(name, "node {}: offset {} is missing from what is committed", seen.node, end());
    entries_.push_back(*entry);
    apply(*entry);
  }
}

bool Committed::on_a_majority(const raft::VoterSet& voters, const LogEntry& entry) const {
  size_t durable = 0;
  for (const auto& [id, voter] : voters) durable += has_durably_(voter, entry);
  return durable >= voters.majority();
}

void Committed::compare(const Seen& seen, int64_t from, int64_t high_watermark) {
  const int64_t begin = std::max(from, seen.log.start());
  for (auto entry = std::ranges::upper_bound(seen.log.entries(), begin, {}, &LogEntry::end); entry != seen.log.entries().end() && entry->base < high_watermark; ++entry) {
    const LogEntry* known = at(entry->base);
    if (!known || known->base != entry->base || known->epoch != entry->epoch || known->crc != entry->crc) {
      return report_.violate(name, "node {} takes offset {} of epoch {} for committed, where {} is", seen.node, entry->base, entry->epoch,
                             known ? fmt::format("epoch {}", known->epoch) : "nothing");
    }
  }
}

void Committed::elected(const Seen& leader) {
  const LogEntry* must_have = last();
  if (!must_have || leader.log.start() >= must_have->end) return;
  const LogEntry* has = leader.log.at(must_have->base);
  if (!has || has->epoch != must_have->epoch || has->crc != must_have->crc) {
    report_.violate(name, "node {} leads epoch {} without offset {} of epoch {}, which was committed", leader.node, leader.core.epoch(), must_have->base, must_have->epoch);
  }
}

void Committed::apply(const LogEntry& entry) {
  if (entry.control) return;
  const record::BatchView batch(*entry.bytes);
  replay_.set_provenance(Epoch{entry.epoch}, WallTime{batch.max_timestamp()});
  record::RecordReader reader(batch);
  record::Record record;
  for (;;) {
    const auto more = reader.next(record);
    if (!more) return report_.violate(name, "offset {}: {}", entry.base, more.error().message);
    if (!*more) return;
    const auto decoded = image::decode_metadata_record(record.value.value_or(BytesView{}));
    const auto applied = decoded ? replay_.apply(*decoded, Offset{record.offset}) : Result<void>(castellan::unexpected(decoded.error()));
    if (!applied) return report_.violate(name, "the committed record at {} makes no sense: {}", record.offset, applied.error().message);
    on_record_(*decoded, record.offset);
  }
}

}  // namespace castellan::sim
