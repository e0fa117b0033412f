// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// Leader elections that somebody asks for (ElectLeaders, KIP-460) or that the controller begins by itself: preferred leaders
// back to their place, unclean elections where a topic allows them.

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct ElectLeadersRequest;
}

namespace castellan::controller {

ControllerResult elect_leaders(const Context& context, const wire::ElectLeadersRequest& request, int16_t version);
// One error for the request (from version 1 on) and for each partition that it names.
Reply elections_refused(const wire::ElectLeadersRequest& request, int16_t version, const Error& error);

struct PeriodicElections {
  MetadataRecords records;
  bool more = false;  // the limit of one run was reached
};
inline constexpr size_t elections_per_run_max = 1000;
PeriodicElections balance_leaders(const Context& context);
PeriodicElections elect_unclean_leaders(const Context& context);

}  // namespace castellan::controller
