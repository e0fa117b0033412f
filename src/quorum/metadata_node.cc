// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "quorum/metadata_node.h"

#include "quorum/metadata_loop.h"
#include "quorum/raft_loop.h"
#include "raft/rpc.h"
#include "wire/api.h"
#include "wire/codec.h"

namespace castellan::quorum {
namespace {

// Longer than a commit takes where disk and network are well.
constexpr Duration write_patience = std::chrono::milliseconds(5);

raft::Config core_config(const Options& options) {
  const config::ServerConfig& server = *options.config;
  raft::Config config{.cluster_id = options.cluster_id, .id = server.node_id, .directory = options.directory_id};
  config.listeners = options.controller_listeners;
  config.default_listener = server.controller_listener_names.empty() ? "" : server.controller_listener_names.front();
  for (char& c : config.default_listener) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  config.can_become_voter = server.is_controller;
  config.auto_join = server.values.boolean("controller.quorum.auto.join.enable");
  std::vector<raft::Voter> voters;
  for (const auto& [id, address] : server.static_voters) {
    voters.push_back({.key = {.id = id, .directory = {}}, .endpoints = {{config.default_listener, {address.host, address.port}}}, .kraft_version = {}});
  }
  config.static_voters = raft::VoterSet(voters);
  for (const auto& address : server.bootstrap_servers) config.bootstrap_servers.push_back({address.host, address.port});
  config.election_timeout = server.milliseconds("controller.quorum.election.timeout.ms");
  config.fetch_timeout = server.milliseconds("controller.quorum.fetch.timeout.ms");
  config.election_backoff_max = server.milliseconds("controller.quorum.election.backoff.max.ms");
  config.request_timeout = server.milliseconds("controller.quorum.request.timeout.ms");
  config.retry_backoff = server.milliseconds("controller.quorum.retry.backoff.ms");
  config.write_patience = write_patience;
  config.fetch_max_bytes = static_cast<int32_t>(server.values.integer("controller.quorum.fetch.max.bytes"));
  config.fetch_snapshot_max_bytes = static_cast<int32_t>(server.values.integer("controller.quorum.fetch.snapshot.max.bytes"));
  config.seed = options.seed;
  return config;
}

log::LogConfig log_config(const config::ServerConfig& server) {
  log::LogConfig config;
  const auto internal = server.values.integer_or_null("internal.metadata.log.segment.bytes");  // below the other's limit, for tests
  config.segment_bytes = static_cast<int32_t>(internal.value_or(server.values.integer("metadata.log.segment.bytes")));
  config.segment_ms = server.values.integer("metadata.log.segment.ms");
  // Segments go through snapshots only (KIP-630).
  config.retention_bytes = -1;
  config.retention_ms = -1;
  config.max_message_bytes = 8 << 20;
  return config;
}

}  // namespace

Result<std::unique_ptr<MetadataNode>> MetadataNode::open(Surroundings surroundings, Options options) {
  const config::ServerConfig& server = *options.config;
  raft::Config core = core_config(options);
  TRY(auto directory, open_metadata_directory(surroundings.files, {.directory = options.directory,
                                                                   .cluster_id = options.cluster_id,
                                                                   .self = {core.id, core.directory},
                                                                   .is_controller = server.is_controller,
                                                                   .static_voters = core.static_voters,
                                                                   .knows_others = core.static_voters.size() > 1 || core.bootstrap_servers.size() > 1,
                                                                   .log = log_config(server),
                                                                   .now = surroundings.clock.wall()}));
  for (const log::Notice& notice : directory.notices) options.print(1 + static_cast<int>(notice.level), notice.text);
  const auto snapshot = directory.snapshot;
  auto bootstrap = std::move(directory.bootstrap_records);
  std::unique_ptr<MetadataNode> node(new MetadataNode);
  node->raft_ = std::make_unique<RaftLoop>(surroundings, options, std::move(core), std::move(directory));
  node->metadata_ = std::make_unique<MetadataLoop>(surroundings, options, *node->raft_, snapshot, std::move(bootstrap));
  return node;
}

MetadataNode::~MetadataNode() = default;

Loop& MetadataNode::raft_loop() { return *raft_; }
Loop& MetadataNode::metadata_loop() { return *metadata_; }

void MetadataNode::start() {
  metadata_->post_start();
  raft_->post_start(metadata_.get());
}

void MetadataNode::stop(std::function<void()> done) {
  metadata_->post_stop([this, done = std::move(done)]() mutable { raft_->post_stop(std::move(done)); });
}

bool MetadataNode::handles(int16_t api_key) {
  return raft::is_quorum_api(api_key) || controller::Controller::handles(static_cast<wire::ApiKey>(api_key));
}

void MetadataNode::handle(MetadataRequest request, Reply reply) {
  if (raft::is_quorum_api(request.api_key)) return raft_->post_request(std::move(request), std::move(reply));
  metadata_->post_request(std::move(request), std::move(reply));
}

Result<Bytes> MetadataNode::error_body(const MetadataRequest& request, const Error& error) {
  const wire::ApiInfo* info = wire::find_api(request.api_key);
  if (!info || !controller::Controller::handles(info->key)) return unexpected(error);
  auto message = info->request->create();
  wire::Reader reader(request.body);
  TRY_VOID(wire::decode_message(*info->request, message.get(), request.api_version, reader));
  const auto reply = controller::error_reply({.api = info->key, .version = request.api_version, .message = std::move(message)}, error);
  wire::Writer writer;
  TRY_VOID(wire::encode_message(*reply.info, reply.message.get(), request.api_version, writer));
  return writer.take_bytes();
}

void MetadataNode::add_reader(ImageReader* reader) { metadata_->publisher().add(reader); }
void MetadataNode::remove_reader(ImageReader* reader) { metadata_->publisher().remove(reader); }
ImagePtr MetadataNode::image() const { return metadata_->publisher().latest(); }
QuorumView MetadataNode::view() const { return metadata_->view(); }
void MetadataNode::on_view_changed(std::function<void(const QuorumView&)> changed) { metadata_->on_view_changed(std::move(changed)); }

}  // namespace castellan::quorum
