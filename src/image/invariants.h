// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// What must hold of every image, whatever records made it. The tests and the simulator ask after each step; a node does
// not, since it walks over everything.

#pragma once

#include "base/result.h"
#include "image/image.h"

namespace castellan::image {

// UNKNOWN_SERVER_ERROR with the first invariant that does not hold:
//  - names and ids of topics go both ways, the indexes over partitions are what the partitions say, counts agree;
//  - a directory belongs to the broker that registered it, and to one only;
//  - a snapshot of the image, read again, is the image.
Result<void> check_invariants(const Image& image);

// What the controller promises beyond that, on a log that only it has written:
//  - replicas are not repeated, ISR and ELR are disjoint parts of them, and without ELR the ISR is not empty;
//  - a leader is in the ISR; who is being added or removed is a replica.
Result<void> check_partition_invariants(const Image& image);

}  // namespace castellan::image
