// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// castellan.http.address: where a node serves its metrics and its readiness. Pure.

#pragma once

#include <optional>

#include "base/result.h"
#include "config/addresses.h"
#include "config/values.h"

namespace castellan::config {

// None when it is not set. The host is empty for every interface, the port 0 for any free one.
Result<std::optional<HostPort>> http_address(const Values& values);

}  // namespace castellan::config
