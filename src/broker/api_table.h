// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What the broker's listener serves: which versions of which API, what ApiVersions says of it, and who handles it. An API
// that is not here is left out of ApiVersions, and a request for it closes the connection (B10).

#pragma once

#include <span>

#include "broker/request.h"
#include "wire/api.h"

namespace castellan::broker {

class Broker;

struct Api {
  wire::ApiKey key;
  wire::VersionRange served;
  int16_t advertised_first;  // ApiVersions' lowest version; below served.first for Produce only (KAFKA-18659)
  void (*handle)(Broker& broker, RequestPtr request);
};

// Ordered by key.
std::span<const Api> apis();
const Api* find_api(int16_t key);

}  // namespace castellan::broker
