// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A broker for tests: on a disk in memory, with a clock that the test moves, a controller that answers registrations and
// heartbeats and whatever the test tells it to, and an image that the test writes record by record.
//
//   TestBroker test;
//   test.start();                                   // registered, unfenced
//   test.create_topic("t", 3);
//   auto response = test.call(request, version);    // decoded; runs the loop until it is answered

#pragma once

#include <deque>

#include "broker/broker.h"
#include "image/apply.h"
#include "image/image.h"
#include "io/memory/memory_file_system.h"
#include "log/meta_properties.h"
#include "wire/api.h"
#include "wire/messages/allocate_producer_ids_request.h"
#include "wire/messages/allocate_producer_ids_response.h"
#include "wire/messages/broker_heartbeat_request.h"
#include "wire/messages/broker_heartbeat_response.h"
#include "wire/messages/broker_registration_request.h"
#include "wire/messages/broker_registration_response.h"
#include "wire/messages/config_record.h"
#include "wire/messages/partition_record.h"
#include "wire/messages/register_broker_record.h"
#include "wire/messages/remove_topic_record.h"
#include "wire/messages/topic_record.h"
#include "wire/messages/unfence_broker_record.h"

namespace castellan::broker {

inline const Uuid test_directory{0x1111, 0x8000000000000001};

class TestClock : public io::Clock {
 public:
  MonotonicTime monotonic() const override { return now.monotonic; }
  WallTime wall() const override { return now.wall; }
  void advance(std::chrono::milliseconds by) {
    now.monotonic = now.monotonic + by;
    now.wall = now.wall + by;
  }
  Now now{{1'000'000'000}, {1'700'000'000'000}};
};

class TestLoop : public Loop {
 public:
  void post(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  void wake_at(MonotonicTime) override {}
  void run() {
    while (!tasks.empty()) {
      auto task = std::move(tasks.front());
      tasks.pop_front();
      task();
    }
  }
  std::deque<std::function<void()>> tasks;
};

class TestWorkers : public Workers {
 public:
  void run(std::function<void()> task) override { task(); }
};

// Encoded as it would be on the wire, what a test reads back decoded.
class TestRequest : public Request {
 public:
  TestRequest(const wire::MessageInfo& info, const void* body, int16_t version) {
    start_.api = wire::find_api(info.key);
    start_.version = version;
    start_.correlation_id = 7;
    start_.client_id = "test";
    wire::Writer writer;
    auto written = wire::encode_message(info, body, version, writer);
    CHECK(written.has_value(), "{}", written.error().message);
    body_ = writer.take_bytes();
  }
  const wire::RequestStart& start() const override { return start_; }
  std::span<uint8_t> body() override { return body_; }
  const std::string& listener() const override { return listener_; }
  const std::string& client_host() const override { return host_; }
  uint64_t connection() const override { return 1; }
  void send(wire::OutputChain frame) override { answer = frame.to_bytes(); }
  void send_nothing() override { nothing = true; }
  void close(const std::string& reason) override { closed = reason; }
  bool answered() const { return answer || nothing || closed; }

  std::optional<Bytes> answer;
  bool nothing = false;
  std::optional<std::string> closed;
  wire::RequestStart start_;

 private:
  Bytes body_;
  std::string listener_ = "PLAINTEXT";
  std::string host_ = "127.0.0.1";
};

class TestController : public ControllerChannel {
 public:
  explicit TestController(Loop& loop) : loop_(loop) {}
  void call(ControllerRequest request, Callback done) override {
    requests.push_back(request);
    Result<Bytes> answer = fail(ErrorCode::NOT_CONTROLLER, "the test has no answer");
    if (on_call) answer = on_call(request);
    loop_.post([done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
  }
  std::function<Result<Bytes>(const ControllerRequest&)> on_call;
  std::vector<ControllerRequest> requests;

 private:
  Loop& loop_;
};

class TestBroker {
 public:
  explicit TestBroker(config::ConfigMap settings = {}, std::shared_ptr<io::MemoryFileSystem> disk = nullptr)
      : files(disk ? std::move(disk) : std::make_shared<io::MemoryFileSystem>()), controller(loop) {
    config::ConfigMap given = {{"process.roles", "broker,controller"},
                               {"node.id", "1"},
                               {"listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"},
                               {"controller.listener.names", "CONTROLLER"},
                               {"controller.quorum.bootstrap.servers", "127.0.0.1:9093"},
                               {"log.dirs", "/data"},
                               {"offsets.topic.num.partitions", "2"},
                               {"group.initial.rebalance.delay.ms", "0"}};
    for (auto& [key, value] : settings) given[key] = value;
    auto parsed = config::ServerConfig::parse(given);
    CHECK(parsed.has_value(), "{}", parsed.error().message);
    Options options;
    options.server = std::make_shared<config::ServerConfig>(*parsed);
    options.cluster_id = "cluster";
    options.incarnation = IncarnationId{Uuid{5, 0x8000000000000005}};
    options.seed = 1;
    options.advertised_listeners = parsed->advertised_broker_listeners;
    for (const auto& directory : parsed->log_dirs) {
      must(files->make_directories(directory));
      must(files->sync_directory("/"));
      log::MetaProperties properties{.version = 1, .cluster_id = "cluster", .node_id = 1, .directory_id = test_directory};
      must(log::write_meta_properties(*files, directory, properties, clock.wall()));
    }
    broker = std::make_unique<Broker>(Surroundings{*files, clock, loop, workers, controller}, std::move(options));
    controller.on_call = [this](const ControllerRequest& request) { return answer(request); };
  }

  template <class T>
  static void must(const Result<T>& result) {
    CHECK(result.has_value(), "{}", result.error().message);
  }

  // Registered, with the image so far, and unfenced.
  void start() {
    must(broker->open_directories());
    broker->start([this] { ready = true; }, [this](std::string reason) { failure = reason; });
    loop.run();
    start_after_registration();
  }
  // The image with this broker in it comes.
  void start_after_registration() {
    wire::RegisterBrokerRecord registration;
    registration.broker_id = 1;
    registration.incarnation_id = Uuid{5, 0x8000000000000005};
    registration.broker_epoch = 10;
    registration.end_points.push_back({.name = "PLAINTEXT", .host = "127.0.0.1", .port = 9092});
    registration.fenced = false;
    registration.log_dirs = {test_directory};
    apply(registration, 3);
    publish();
  }

  template <class M>
  void apply(M record, int16_t version) {
    must(image::apply(image, image::MetadataRecord{.version = version, .message = std::move(record)}, image.last_offset + 1));
    image.last_offset = image.last_offset + 1;
  }
  void publish() {
    broker->on_image(std::make_shared<image::Image>(image));
    loop.run();
  }
  TopicId create_topic(const std::string& name, int32_t partitions, config::ConfigMap settings = {}) {
    wire::TopicRecord topic;
    topic.name = name;
    topic.topic_id = Uuid{++last_topic_, 0x8000000000000000};
    apply(topic, 0);
    for (auto& [key, value] : settings) {
      wire::ConfigRecord config;
      config.resource_type = 2;
      config.resource_name = name;
      config.name = key;
      config.value = value;
      apply(config, 0);
    }
    for (int32_t index = 0; index < partitions; ++index) {
      wire::PartitionRecord partition;
      partition.partition_id = index;
      partition.topic_id = topic.topic_id;
      partition.replicas = partition.isr = {1};
      partition.leader = 1;
      partition.leader_epoch = partition.partition_epoch = 0;
      partition.directories = {test_directory};
      apply(partition, 1);
    }
    publish();
    return TopicId{topic.topic_id};
  }
  void delete_topic(TopicId id) {
    wire::RemoveTopicRecord remove;
    remove.topic_id = id.value;
    apply(remove, 0);
    publish();
  }

  template <class RequestBody>
  std::shared_ptr<TestRequest> send(const RequestBody& body, int16_t version) {
    auto request = std::make_shared<TestRequest>(RequestBody::info(), &body, version);
    broker->handle(request);
    loop.run();
    return request;
  }
  template <class Response>
  static Response read(const TestRequest& request) {
    CHECK(request.answer.has_value(), "no answer: {}", request.closed.value_or("it waits"));
    wire::Reader reader(BytesView(*request.answer).subspan(4));
    auto correlation = wire::read_response_header(*request.start_.api, request.start_.version, reader);
    CHECK(correlation.has_value() && *correlation == 7);
    auto response = wire::decode_as<Response>(request.start_.version, reader);
    CHECK(response.has_value(), "{}", response.error().message);
    CHECK(reader.remaining() == 0);
    return std::move(*response);
  }
  template <class Response, class RequestBody>
  Response call(const RequestBody& body, int16_t version) {
    auto request = send(body, version);
    last = request;  // views of records point into its answer
    return read<Response>(*request);
  }
  void pass(std::chrono::milliseconds time) {
    clock.advance(time);
    broker->tick();
    loop.run();
  }

  std::shared_ptr<io::MemoryFileSystem> files;
  TestClock clock;
  TestLoop loop;
  TestWorkers workers;
  TestController controller;
  image::Image image;
  std::unique_ptr<Broker> broker;
  bool ready = false;
  std::string failure;
  std::shared_ptr<TestRequest> last;

 private:
  Result<Bytes> answer(const ControllerRequest& request) {
    if (request.api_key == wire::BrokerRegistrationRequest::info().key) {
      return wire::encode_to_bytes(wire::BrokerRegistrationResponse{.broker_epoch = 10}, request.api_version);
    }
    if (request.api_key == wire::BrokerHeartbeatRequest::info().key) {
      auto beat = wire::decode_exactly<wire::BrokerHeartbeatRequest>(request.api_version, request.body);
      wire::BrokerHeartbeatResponse response;
      response.is_caught_up = true;
      response.is_fenced = beat->want_fence;
      response.should_shut_down = beat->want_shut_down;
      return wire::encode_to_bytes(response, request.api_version);
    }
    if (request.api_key == wire::AllocateProducerIdsRequest::info().key) {
      return wire::encode_to_bytes(wire::AllocateProducerIdsResponse{.producer_id_start = 1000 * ++blocks_, .producer_id_len = 1000}, request.api_version);
    }
    return fail(ErrorCode::NOT_CONTROLLER, "the test controller does not serve {}", request.api_key);
  }

  uint64_t last_topic_ = 100;
  int64_t blocks_ = 0;
};

}  // namespace castellan::broker
