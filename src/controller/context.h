// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What a handler looks at besides its request. Everything is lent for the length of one call.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/prng.h"
#include "base/time.h"
#include "config/server_config.h"
#include "controller/mutation_quota.h"
#include "controller/result.h"
#include "image/image.h"

namespace castellan::controller {

using image::Image;
class TopicDefaults;

// What this controller was started with. All controllers of a cluster should agree on `server`, or answers change with a
// failover.
struct Settings {
  std::string cluster_id;
  NodeId node_id = no_node;
  config::ServerConfigPtr server;  // the file, without dynamic settings
};

// The numbers are those of ACLs (KIP-290).
enum class AclOperation : int8_t {
  UNKNOWN = 0, ANY = 1, ALL = 2, READ = 3, WRITE = 4, CREATE = 5, DELETE = 6, ALTER = 7, DESCRIBE = 8, CLUSTER_ACTION = 9,
  DESCRIBE_CONFIGS = 10, ALTER_CONFIGS = 11, IDEMPOTENT_WRITE = 12, CREATE_TOKENS = 13, DESCRIBE_TOKENS = 14, TWO_PHASE_COMMIT = 15,
};
enum class AclResourceType : int8_t { UNKNOWN = 0, ANY = 1, TOPIC = 2, GROUP = 3, CLUSTER = 4, TRANSACTIONAL_ID = 5, DELEGATION_TOKEN = 6, USER = 7 };

// Whether the principal behind a request may do something. No authorizer: everything may be done.
using Access = std::function<bool(AclOperation, AclResourceType, std::string_view name)>;

struct Context {
  const Image& image;               // the tip: with everything appended so far
  const Settings& settings;
  Now now;
  Offset next_offset{0};            // where the first record of this result will stand
  Prng& random;
  TopicDefaults* topic_defaults = nullptr;  // kept between calls; none: worked out anew
  std::string principal = "User:ANONYMOUS";
  std::string client_id;
  const Access* access = nullptr;
  // The request came from a broker, in an Envelope or through the channel of a combined node.
  bool forwarded = false;
  // The request came from this very process: then a broker with this node's id that was registered before is dead.
  bool from_this_process = false;
  std::span<const NodeId> voters;   // of the quorum, now
  int16_t kraft_version = 0;
  // Changes kraft.version, which lives in control records; the quorum does it. Not there: cannot be changed now.
  const std::function<Result<void>(int16_t level, bool validate_only)>* change_kraft_version = nullptr;

  // What this request may still change of topics; none: without limit.
  MutationQuota* mutations = nullptr;

  Result<void> charge_mutations(size_t partitions) const { return mutations == nullptr ? Result<void>{} : mutations->charge(partitions); }
  int32_t throttle_ms() const { return mutations == nullptr ? 0 : mutations->throttle_ms(); }
  bool allowed(AclOperation operation, AclResourceType type, std::string_view name) const {
    return access == nullptr || (*access)(operation, type, name);
  }
  bool allowed_on_cluster(AclOperation operation) const { return allowed(operation, AclResourceType::CLUSTER, "kafka-cluster"); }
  image::MetadataVersion metadata_version() const { return image.features.version_or_minimum(); }
  bool elr_enabled() const { return image.features.elr_enabled(); }
};

// The value of a topic key as it holds here: the topic's own, this node's dynamic one, the cluster's, the file's, the
// default (C308).
int64_t effective_integer(const Context& context, std::string_view topic, std::string_view key);
bool effective_flag(const Context& context, std::string_view topic, std::string_view key);
inline bool unclean_election_enabled(const Context& context, std::string_view topic) {
  return effective_flag(context, topic, "unclean.leader.election.enable");
}
// min.insync.replicas, but not above the topic's replication factor.
int32_t effective_min_isr(const Context& context, const image::Topic& topic);

}  // namespace castellan::controller
