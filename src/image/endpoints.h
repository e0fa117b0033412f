// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Listeners in the form that another struct has them: requests, records and the image all say name, host, port and security
// protocol, each in a type of its own.
//
//   record.end_points = endpoints_as<wire::RegisterBrokerRecord::BrokerEndpoint>(request.listeners);

#pragma once

#include <vector>

namespace castellan::image {

template <class To, class From>
std::vector<To> endpoints_as(const std::vector<From>& from) {
  std::vector<To> to;
  to.reserve(from.size());
  for (const From& each : from) {
    To& out = to.emplace_back();
    out.name = each.name;
    out.host = each.host;
    out.port = each.port;
    out.security_protocol = each.security_protocol;
  }
  return to;
}

}  // namespace castellan::image
