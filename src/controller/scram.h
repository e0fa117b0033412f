// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// AlterUserScramCredentials (KIP-554).

#pragma once

#include "controller/context.h"

namespace castellan::wire {
struct AlterUserScramCredentialsRequest;
}

namespace castellan::controller {

ControllerResult alter_user_scram_credentials(const Context& context, const wire::AlterUserScramCredentialsRequest& request);

}  // namespace castellan::controller
