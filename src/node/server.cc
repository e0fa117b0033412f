// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/server.h"

#include <malloc.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <future>

#include "broker/broker.h"
#include "image/image.h"
#include "io/posix/posix_file_system.h"
#include "net/listener.h"
#include "net/tcp_channel.h"
#include "node/active_controller.h"
#include "node/broker_listener.h"
#include "node/controller_listener.h"
#include "node/directories.h"
#include "node/observability.h"
#include "node/reactor_executor.h"
#include "node/worker_thread.h"
#include "quorum/metadata_node.h"

namespace castellan::node {

namespace {

// How long a stopping node waits for its clients to take their last answers and close.
constexpr std::chrono::milliseconds drain_patience{1000};

void set_up_log() {
  auto logger = std::make_shared<spdlog::logger>("castellan", std::make_shared<spdlog::sinks::stdout_sink_mt>());
  logger->set_pattern("[%Y-%m-%d %H:%M:%S.%e] %l %v");
  logger->set_level(spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

// Starts something on another thread and waits until it has called `done`. The promise is shared: that thread may still be
// inside set_value when the wait is over.
void wait_for(const std::function<void(std::function<void()> done)>& start) {
  auto promise = std::make_shared<std::promise<void>>();
  auto future = promise->get_future();
  start([promise] { promise->set_value(); });
  future.wait();
}

std::string own_host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// SIGTERM and SIGINT, blocked in every thread and taken in one place. A broken connection is an error, not a signal.
class StopSignals {
 public:
  StopSignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGTERM);
    ::sigaddset(&set_, SIGINT);
    ::sigaddset(&set_, SIGUSR1);  // our own: the node cannot go on
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }
  int wait() {
    int number = 0;
    while (::sigwait(&set_, &number) != 0) {
    }
    return number;
  }
  static void raise() { ::kill(::getpid(), SIGUSR1); }

 private:
  sigset_t set_;
};

net::ConnectionLimits connection_limits(const config::ServerConfig& config) {
  return {.all = static_cast<size_t>(config.values.integer("max.connections")),
          .of_one_address = static_cast<size_t>(config.values.integer("max.connections.per.ip")),
          .of_address = config.connections_per_ip_overrides,
          .per_second = config.values.integer("max.connection.creation.rate")};
}

class Server : public broker::Loop {
 public:
  explicit Server(const config::ServerConfig& config) : config_(std::make_shared<config::ServerConfig>(config)) {}
  ~Server() override { shut_threads(); }

  Result<void> open();
  void start();
  // Why the node cannot go on, when it was not a signal that ended it.
  std::string failure() {
    std::lock_guard lock(mutex_);
    return failure_;
  }
  void fail_with(const std::string& reason);
  void stop();

  // broker::Loop
  void post(std::function<void()> task) override { reactor_.post(std::move(task)); }
  void wake_at(MonotonicTime due) override { reactor_.arm(due); }

 private:
  Result<void> bind_listeners();
  Result<void> open_broker();
  std::vector<config::Listener> advertised(const std::vector<config::Listener>& listeners) const;
  void on_news();
  void announce();
  void shut_threads();

  config::ServerConfigPtr config_;
  metrics::Registry metrics_;
  std::unique_ptr<io::FileSystem> files_ = io::make_posix_file_system();
  std::unique_ptr<io::Clock> clock_ = io::make_system_clock();
  std::unique_ptr<io::Entropy> entropy_ = io::make_system_entropy();
  ClaimedDirectories directories_;

  // The quorum's connections and its core have a reactor of their own: what the broker does on a disk never delays a vote
  // (design, "Threads"). In this order: work that waits in the broker's loop may hold connections of the other.
  net::Reactor quorum_reactor_;
  net::Reactor reactor_;
  ReactorExecutor raft_{quorum_reactor_, *clock_};
  std::thread reactor_thread_;
  std::thread quorum_reactor_thread_;
  WorkerThread metadata_thread_{"metadata"};
  WorkerThread sync_thread_{"sync"};
  WorkerThread worker_thread_{"worker"};  // the quorum's snapshots and cold reads
  WorkerThread helper_thread_{"helper"};  // the broker's syncs and compaction
  WorkerThread reader_thread_{"reader"};  // its cold reads

  // In the order in which they need each other; destroyed in reverse.
  std::unique_ptr<net::TcpChannel> quorum_channel_;
  std::unique_ptr<quorum::MetadataNode> metadata_;
  std::unique_ptr<net::TcpChannel> broker_channel_;
  std::unique_ptr<ActiveController> controller_;
  std::unique_ptr<broker::Broker> broker_;
  std::unique_ptr<quorum::ImageReader> reader_;

  // A listener exists before what serves it: the port is taken first.
  struct Late : net::RequestSink {
    std::unique_ptr<net::RequestSink> sink;
    void on_request(net::Request request) override { sink->on_request(std::move(request)); }
    void on_closed(const net::ConnectionInfo& info) override {
      if (sink) sink->on_closed(info);
    }
  };
  Late broker_sink_;
  Late controller_sink_;
  std::vector<std::unique_ptr<net::Listener>> broker_listeners_;
  std::vector<std::unique_ptr<net::Listener>> controller_listeners_;
  std::unique_ptr<Observability> observability_;

  std::mutex mutex_;
  std::string failure_;
};

void Server::fail_with(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (!failure_.empty()) return;
    failure_ = reason;
  }
  StopSignals::raise();
}

Result<void> Server::bind_listeners() {
  const auto& values = config_->values;
  const auto bind = [&](const config::Listener& listener, net::Reactor& reactor, net::RequestSink& sink) -> Result<std::unique_ptr<net::Listener>> {
    net::ListenerOptions options;
    options.name = listener.name;
    options.host = listener.host;
    options.port = listener.port;
    options.max_request_bytes = static_cast<uint32_t>(values.integer("socket.request.max.bytes"));
    options.idle_limit = config_->milliseconds("connections.max.idle.ms");
    options.backlog = static_cast<int>(values.integer("socket.listen.backlog.size"));
    options.send_buffer_bytes = static_cast<int>(values.integer("socket.send.buffer.bytes"));
    options.receive_buffer_bytes = static_cast<int>(values.integer("socket.receive.buffer.bytes"));
    options.limits = connection_limits(*config_);
    options.metrics = &metrics_;
    return net::Listener::open(reactor, std::move(options), sink);
  };
  for (const auto& listener : config_->broker_listeners) {
    TRY(auto bound, bind(listener, reactor_, broker_sink_));
    broker_listeners_.push_back(std::move(bound));
  }
  if (config_->is_controller) {
    for (const auto& listener : config_->controller_listeners) {
      TRY(auto bound, bind(listener, quorum_reactor_, controller_sink_));
      controller_listeners_.push_back(std::move(bound));
    }
  }
  TRY(observability_, Observability::open(config_, quorum_reactor_));
  return {};
}

// What others are told: an empty host is this machine, a port of 0 the one that was bound.
std::vector<config::Listener> Server::advertised(const std::vector<config::Listener>& listeners) const {
  std::vector<config::Listener> told = listeners;
  for (auto& listener : told) {
    if (listener.host.empty()) listener.host = own_host_name();
    if (listener.port != 0) continue;
    for (size_t i = 0; i < config_->broker_listeners.size(); ++i) {
      if (config_->broker_listeners[i].name == listener.name) listener.port = broker_listeners_[i]->port();
    }
    for (size_t i = 0; i < config_->controller_listeners.size() && i < controller_listeners_.size(); ++i) {
      if (config_->controller_listeners[i].name == listener.name) listener.port = controller_listeners_[i]->port();
    }
  }
  return told;
}

Result<void> Server::open() {
  TRY_VOID(config_->check_supported());
  for (const auto& warning : config_->warnings) spdlog::warn("{}", warning);
  TRY(directories_, claim_directories(*files_, *entropy_, *config_, clock_->wall()));
  for (const auto& note : directories_.notes) spdlog::warn("{}", note);
  TRY_VOID(bind_listeners());

  quorum::Options options;
  options.config = config_;
  options.cluster_id = directories_.cluster_id;
  options.directory = config_->metadata_log_dir;
  options.directory_id = directories_.metadata_directory_id;
  for (const auto& listener : advertised(config_->advertised_controller_listeners)) {
    options.controller_listeners[listener.name] = {listener.host, listener.port};
  }
  options.seed = entropy_->next();
  // A broker is to know at once what is committed; a standby controller only has to be near.
  if (!config_->is_broker) options.standby_patience = std::chrono::milliseconds(5);
  options.print = [](int level, const std::string& line) {
    spdlog::log(level <= 0 ? spdlog::level::debug : level == 1 ? spdlog::level::info : level == 2 ? spdlog::level::warn : spdlog::level::err, "{}", line);
  };
  options.fatal = [this](const std::string& reason) { fail_with(reason); };
  quorum_channel_ = std::make_unique<net::TcpChannel>(
      quorum_reactor_, net::TcpChannelOptions{.client_id = fmt::format("raft-client-{}", config_->node_id),
                                              .post = [this](std::function<void()> work) { raft_.post(std::move(work)); }});
  quorum::Surroundings surroundings{.files = *files_,
                                    .clock = *clock_,
                                    .channel = quorum_channel_.get(),
                                    .raft = raft_,
                                    .metadata = metadata_thread_.mailbox(),
                                    .log_sync = sync_thread_.mailbox(),
                                    .workers = worker_thread_.mailbox()};
  TRY(metadata_, quorum::MetadataNode::open(surroundings, std::move(options)));
  controller_sink_.sink = std::make_unique<ControllerListener>(*metadata_, quorum_reactor_, directories_.cluster_id);
  if (config_->is_broker) TRY_VOID(open_broker());
  return {};
}

Result<void> Server::open_broker() {
  broker_channel_ = std::make_unique<net::TcpChannel>(
      reactor_, net::TcpChannelOptions{.client_id = fmt::format("broker-{}", config_->node_id), .post = [](const std::function<void()>& work) { work(); }});
  controller_ = std::make_unique<ActiveController>(*metadata_, reactor_, *broker_channel_, *clock_,
                                                   ActiveController::Limits{.client_patience = config_->milliseconds("request.timeout.ms"),
                                                                            .own_timeout = config_->milliseconds("controller.socket.timeout.ms")});
  metadata_->on_view_changed([this](const quorum::QuorumView& view) { controller_->on_view(view); });
  Prng prng(entropy_->next());
  broker::Options options;
  options.server = config_;
  options.cluster_id = directories_.cluster_id;
  options.incarnation = IncarnationId{prng.uuid()};
  options.seed = entropy_->next();
  options.advertised_listeners = advertised(config_->advertised_broker_listeners);
  options.kraft_version = [this] { return metadata_->view().kraft_version; };
  options.metrics = &metrics_;
  options.settings_changed = [this](const config::ServerConfig& config) {
    for (auto& listener : broker_listeners_) listener->set_limits(connection_limits(config));
  };
  broker_ = std::make_unique<broker::Broker>(
      broker::Surroundings{.files = *files_, .clock = *clock_, .loop = *this, .workers = helper_thread_, .controller = *controller_, .readers = &reader_thread_},
      std::move(options));
  TRY_VOID(broker_->open_directories());
  broker_sink_.sink = std::make_unique<BrokerListener>(*broker_);
  reactor_.on_alarm([this] {
    controller_->tick(clock_->monotonic());
    broker_->tick();
    reactor_.arm(controller_->next_deadline());
  });
  return {};
}

void Server::start() {
  sync_thread_.start(*clock_);
  worker_thread_.start(*clock_);
  if (broker_) {
    helper_thread_.start(*clock_);
    reader_thread_.start(*clock_);
  }
  raft_.drive(&metadata_->raft_loop());
  metadata_thread_.start(*clock_, &metadata_->metadata_loop());
  if (broker_) {
    reactor_thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "reactor-0");
      reactor_.run();
    });
  }
  quorum_reactor_thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "raft");
    quorum_reactor_.run();
  });
  quorum_reactor_.post([this] {
    for (auto& listener : controller_listeners_) listener->start();
    observability_->start({.config = config_, .clock = *clock_, .reactor = quorum_reactor_, .registry = metrics_, .metadata = metadata_.get(), .broker = broker_.get(), .broker_reactor = &reactor_});
  });
  if (const auto address = observability_->address(); !address.empty()) spdlog::info("metrics, /ready and /live are served on {}", address);
  metadata_->start();
  if (!broker_) {
    spdlog::info("node {} is ready: controller on {}:{}", config_->node_id, config_->controller_listeners.front().host,
                 controller_listeners_.front()->port());
    return;
  }
  reader_ = std::make_unique<quorum::ImageReader>([this] { reactor_.post([this] { on_news(); }); });
  metadata_->add_reader(reader_.get());
  reactor_.post([this] { broker_->start([this] { announce(); }, [this](const std::string& reason) { fail_with(reason); }); });
}

void Server::on_news() {
  auto image = reader_->take();
  if (!image) return;
  broker_->on_image(image);
  reader_->applied(*image);
  controller_->on_image(image->last_offset);
}

void Server::announce() {
  std::string where;
  for (auto& listener : broker_listeners_) listener->start();
  for (const auto& listener : advertised(config_->advertised_broker_listeners)) {
    where += fmt::format("{}{}://{}:{}", where.empty() ? "" : ", ", listener.name, listener.host, listener.port);
  }
  spdlog::info("node {} is ready to serve on {}", config_->node_id, where);
}

void Server::stop() {
  spdlog::info("node {} is stopping", config_->node_id);
  observability_->stopping();
  if (broker_) {
    wait_for([this](auto left) {
      reactor_.post([this, left] {
        for (auto& listener : broker_listeners_) listener->stop_accepting();
        broker_->begin_shutdown(left);
      });
    });
  }
  if (reader_) metadata_->remove_reader(reader_.get());
  if (!broker_listeners_.empty()) {
    // What was answered must arrive: a client that does not know that its records are there sends them again.
    auto left = std::make_shared<size_t>(broker_listeners_.size());
    wait_for([&](auto drained) {
      reactor_.post([this, left, drained] {
        for (auto& listener : broker_listeners_) {
          listener->drain(drain_patience, [left, drained] {
            if (--*left == 0) drained();
          });
        }
      });
    });
  }
  wait_for([this](auto stopped) { metadata_->stop(stopped); });
  shut_threads();
  spdlog::info("node {} has stopped", config_->node_id);
}

void Server::shut_threads() {
  const auto shut = [this](net::Reactor& reactor, std::thread& thread, auto& listeners, net::TcpChannel* channel) {
    if (!thread.joinable()) return;
    wait_for([&](auto closed) {
      reactor.post([this, &reactor, &listeners, channel, closed] {
        if (&reactor == &quorum_reactor_) observability_->close();
        for (auto& listener : listeners) listener->close();
        if (channel) channel->close();
        closed();
      });
    });
    reactor.stop();
    thread.join();
  };
  shut(reactor_, reactor_thread_, broker_listeners_, broker_channel_.get());
  shut(quorum_reactor_, quorum_reactor_thread_, controller_listeners_, quorum_channel_.get());
  for (auto* thread : {&reader_thread_, &helper_thread_, &metadata_thread_, &worker_thread_, &sync_thread_}) thread->stop();
}

}  // namespace

int run_server(const config::ServerConfig& config) {
  // One heap for all threads. glibc's heaps of single threads grow page by page, a system call and a fault each, and what one
  // thread frees another cannot use; the metadata goes from thread to thread, and would live in all of them.
  ::mallopt(M_ARENA_MAX, 1);
  set_up_log();
  StopSignals signals;
  Server server(config);
  if (auto opened = server.open(); !opened) {
    spdlog::error("{}", opened.error().message);
    return 1;
  }
  server.start();
  signals.wait();
  const std::string failure = server.failure();
  if (!failure.empty()) {
    spdlog::error("{}", failure);
    // The disk or the quorum has failed: nothing more is promised, so nothing is written any more.
    spdlog::shutdown();
    ::_exit(1);
  }
  server.stop();
  return 0;
}

}  // namespace castellan::node
