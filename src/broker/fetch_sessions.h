// SPDX-License-Identifier: Apache-2.0
// Castellan authors
#pragma once
namespace castellan::broker {
class Broker;
class FetchSessions {
 public:
  explicit FetchSessions(Broker&) {}
};
}  // namespace castellan::broker
