// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// One answer on its way out: the parts of a chain, memory by sendmsg and file ranges by sendfile, as far as the socket
// takes them. The chain's owners (frames, segment files) are held until all is out.
//
// Works on native descriptors that do not block. One thread.

#pragma once

#include <string>

#include "wire/output_chain.h"

namespace castellan::net {

class SendQueue {
 public:
  enum class Outcome {
    done,
    would_block,    // wait until the socket can be written, then flush again
    peer_lost,
    source_failed,  // a file could not be read; error() says which and why
  };

  // Nothing else may be on its way.
  void load(wire::OutputChain chain);
  Outcome flush(int socket);
  void clear();
  const std::string& error() const { return error_; }

 private:
  Outcome send_memory(int socket);
  Outcome send_file(int socket);
  void advance(size_t bytes);
  void copy_small_ranges();

  wire::OutputChain chain_;
  std::vector<wire::OutputChain::Part> parts_;
  Bytes copied_;              // small ranges of files; parts_ point into it
  size_t next_ = 0;           // the first part that is not wholly out
  size_t done_in_part_ = 0;
  std::string error_;
};

}  // namespace castellan::net
