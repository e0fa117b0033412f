// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// `castellan config-doc`: every configuration key as a page of Markdown, from the same table that reads and checks them. doc/configuration.md is its output.

#include <ostream>

#include "cli/tools.h"
#include "config/synonyms.h"
#include "config/table.h"

namespace castellan::cli {
namespace {

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<' || c == '*') out += '\\';
    out += c;
  }
  return out;
}

// Our own keys, which Apache Kafka does not have; everything else that is internal is for tests.
bool is_ours(const config::Key& key) { return key.name.starts_with("castellan."); }

void print_keys(std::ostream& out, config::Scope scope) {
  const bool broker = scope == config::Scope::broker;
  out << "| key | type | default | limits |" << (broker ? " change |" : "") << " what it is for |\n|---|---|---|---|" << (broker ? "---|" : "") << "---|\n";
  for (const config::Key& key : config::keys_of(scope)) {
    if (key.internal && !is_ours(key)) continue;
    std::string value = key.required ? "*required*" : !key.default_text ? "" : *key.default_text ? fmt::format("`{}`", key.default_text) : "*empty*";
    std::string behind;
    if (scope == config::Scope::topic) {
      if (auto name = config::broker_key_of_topic_key(key.name)) behind = fmt::format(" Broker: `{}`.", *name);
    } else if (scope == config::Scope::group) {
      if (auto name = config::broker_key_of_group_key(key.name)) behind = fmt::format(" Broker: `{}`.", *name);
    }
    out << fmt::format("| `{}` | {} | {} | {} |{} {}{} |\n", key.name, config::type_name(key.type), value, escape(config::limit_text(key)),
                       broker ? fmt::format(" {} |", config::dynamic_name(key.dynamic)) : "", escape(key.documentation), behind);
  }
  out << "\n";
}

}  // namespace

int run_config_doc(std::span<const std::string>, Environment& environment) {
  std::ostream& out = environment.out;
  out << "# Configuration\n\n"
         "Made by `castellan config-doc` from the table in `src/config/keys_*.inc`; do not edit.\n\n"
         "A node reads Kafka's `server.properties`. Unknown keys are named in a warning. Keys that would change security or durability and are not honoured yet\n"
         "(an authorizer, SSL, SASL, a principal builder, policies, remote storage) make the server refuse to start, with the reason.\n"
         "`change` says how a broker key is changed: read-only by a restart; per-broker and cluster-wide while it runs, for one broker, or for one or all.\n"
         "Keys that begin with `castellan.` are ours; descriptions show them only where they are set.\n\n"
         "## Brokers and controllers\n\n";
  print_keys(out, config::Scope::broker);
  out << "## Topics\n\nA topic's own setting holds before the broker's.\n\n";
  print_keys(out, config::Scope::topic);
  out << "## Groups\n\n";
  print_keys(out, config::Scope::group);
  out << "## Client metrics\n\n";
  print_keys(out, config::Scope::client_metrics);
  return 0;
}

}  // namespace castellan::cli
