// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// A properties file of any bytes: parsed, and read as a server's configuration on top of one that is good; then its lines as settings of a topic, a
// group and a client metrics subscription.

#include "base/bytes.h"
#include "config/alter.h"
#include "config/describe.h"
#include "config/topic_config.h"

namespace castellan::config {
namespace {

const ConfigMap& good() {
  static const ConfigMap map{{"process.roles", "broker,controller"}, {"node.id", "1"}, {"listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"},
                             {"controller.listener.names", "CONTROLLER"}, {"controller.quorum.bootstrap.servers", "h:9093"}};
  return map;
}

}  // namespace
}  // namespace castellan::config

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace castellan;
  using namespace castellan::config;
  auto settings = parse_properties(as_text({data, size}), "input");
  if (!settings) return 0;
  ConfigMap merged = good();
  for (const auto& [key, value] : *settings) merged[key] = value;
  if (auto server = ServerConfig::parse(merged)) {
    static_cast<void>(server->check_supported());
    static_cast<void>(describe_broker(*server, {*settings, *settings}));
  }
  static const ServerConfig server = *ServerConfig::parse(good());
  static_cast<void>(topic_config(server.with_dynamic(*settings, *settings), *settings));
  for (auto type : {ResourceType::TOPIC, ResourceType::GROUP, ResourceType::CLIENT_METRICS}) {
    static_cast<void>(validate_settings({type, "name"}, {}, *settings, server));
  }
  static_cast<void>(validate_broker_settings({ResourceType::BROKER, "1"}, *settings, server));
  std::string text;
  for (const auto& [key, value] : *settings) text += format_property(key, value);
  auto again = parse_properties(text, "formatted");
  if (!again || *again != *settings) __builtin_trap();
  return 0;
}
