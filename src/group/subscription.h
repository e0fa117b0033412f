// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// The topics in a consumer's subscription, as far as the coordinator looks into it: version int16, then an array of
// strings, which every version of ConsumerProtocolSubscription begins with. The rest is between the consumers.

#pragma once

#include <set>
#include <string>

#include "base/bytes.h"

namespace castellan::group {

// Adds the topics; false when the bytes are no subscription (topics may hold some names then).
bool read_subscription(BytesView metadata, std::set<std::string>& topics);

}  // namespace castellan::group
