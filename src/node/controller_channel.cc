// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "node/controller_channel.h"

namespace castellan::node {

namespace {
constexpr std::chrono::milliseconds retry_delay{25};
}

void LocalController::call(broker::ControllerRequest request, Callback done) {
  auto call = std::make_shared<Call>();
  call->give_up = clock_.monotonic() + (request.principal.empty() ? Duration::zero() : patience_);
  call->request = std::move(request);
  call->done = std::move(done);
  ask(std::move(call));
}

void LocalController::ask(std::shared_ptr<Call> call) {
  quorum::MetadataRequest request{.api_key = call->request.api_key,
                                  .api_version = call->request.api_version,
                                  .body = call->request.body,
                                  .listener = {},
                                  .principal = call->request.principal,
                                  .client_host = call->request.client_host,
                                  .client_id = call->request.client_id};
  node_.handle(std::move(request), [this, call = std::move(call)](Result<Bytes> body) mutable {
    reactor_.post([this, call = std::move(call), body = std::move(body)]() mutable {
      const auto now = clock_.monotonic();
      if (!body && body.error().code == ErrorCode::NOT_CONTROLLER && now < call->give_up) {
        again_.emplace_back(now + retry_delay, std::move(call));
        reactor_.arm(again_.back().first);
        return;
      }
      call->done(std::move(body));
    });
  });
}

void LocalController::tick(MonotonicTime now) {
  auto waiting = std::exchange(again_, {});
  for (auto& [due, call] : waiting) {
    if (due <= now) {
      ask(std::move(call));
    } else {
      again_.emplace_back(due, std::move(call));
    }
  }
}

MonotonicTime LocalController::next_deadline() const {
  auto first = MonotonicTime::never();
  for (const auto& [due, call] : again_) first = std::min(first, due);
  return first;
}

}  // namespace castellan::node
