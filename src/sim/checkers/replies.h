// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Clients see one order of events. Since the log is that order, each answer is compared with it:
//
//   "done"      its record is committed when the answer leaves, lies behind everything that was committed when the client asked, and
//               stands for this answer alone
//   "is so"     (exists already, is unknown) was so at some moment between the start of the answering leader's epoch and the answer.
//               As with Apache Kafka, a leader that does not know yet that it is none may tell what was true before.
//
// An answer that never comes says nothing: the change may have happened or not.

#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "image/metadata_record.h"
#include "sim/checkers/report.h"

namespace castellan::sim {

class Replies {
 public:
  static constexpr std::string_view name = "linearizable replies";
  explicit Replies(Report& report) : report_(report) {}

  // Committed, in order.
  void committed(const image::MetadataRecord& record, int64_t offset);

  // `asked_at` is the end of what was committed when the client asked, `leads_from` the first offset of the answering leader's epoch.
  void topic_created(const std::string& topic, TopicId id, int64_t asked_at);
  void topic_deleted(const std::string& topic, int64_t asked_at);
  void topic_exists(const std::string& topic, int64_t leads_from);
  void topic_unknown(const std::string& topic, int64_t leads_from);
  void quota_set(const std::string& user, int64_t value, int64_t asked_at);
  void producer_ids(int64_t start, int32_t count, int64_t asked_at);
  void broker_registered(int32_t broker, int64_t epoch, int64_t asked_at);
  size_t acknowledged() const { return claimed_.size(); }

 private:
  void claim(const std::string& what, int64_t offset, int64_t asked_at);
  bool was(const std::string& topic, bool there, int64_t from) const;

  Report& report_;
  struct Change {
    int64_t offset;
    std::optional<TopicId> id;  // none: deleted
  };
  std::map<std::string, std::vector<Change>> topics_;
  std::map<TopicId, std::string> names_;
  std::map<std::pair<std::string, int64_t>, int64_t> quotas_;
  std::map<int64_t, int64_t> producer_ids_;  // by the next id
  std::map<int64_t, std::pair<int32_t, Uuid>> brokers_;  // by epoch: the id and the incarnation
  std::set<int64_t> claimed_;
};

}  // namespace castellan::sim
