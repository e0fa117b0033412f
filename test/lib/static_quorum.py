# SPDX-License-Identifier: Apache-2.0
# Castellan authors
"""A quorum whose voters come from the configuration (kraft.version 0), and its upgrade.

    with static_quorum() as quorum:
        error, message = upgrade(quorum, 1)
"""
import struct

from lib.quorum import NOT_CONTROLLER, Quorum

UPDATE_FEATURES = 57


def static_quorum(kinds=None):
    quorum = Quorum(kinds, start=False)
    voters = ",".join(f"{c.node_id}@127.0.0.1:{c.controller_port}" for c in quorum.controllers)
    for node in quorum.nodes():
        del node.properties["controller.quorum.bootstrap.servers"]
        node.properties["controller.quorum.voters"] = voters
    for controller in quorum.controllers:
        controller.initial = []
    for node in quorum.nodes():
        node.format()
        node.start(wait=False)
    for node in quorum.nodes():
        node.wait_ready()
    return quorum


def update_feature(connection, name, level, validate_only=False):
    """(error, message) of UpdateFeatures version 1, which is flexible."""
    text = name.encode()
    update = bytes([len(text) + 1]) + text + struct.pack(">hb", level, 1) + b"\0"
    body = struct.pack(">i", 60000) + b"\2" + update + struct.pack(">b", validate_only) + b"\0"
    connection.correlation += 1
    connection.send_frame(struct.pack(">hhih", UPDATE_FEATURES, 1, connection.correlation, -1) + b"\0" + body)
    answer = connection.receive()
    answer.int8()  # the header's tags
    answer.int32()
    error = answer.int16()
    length = answer.raw(1)[0]
    return error, bytes(answer.raw(max(length - 1, 0))).decode(errors="replace")


def upgrade(quorum, level, validate_only=False):
    """kraft.version, at the active controller."""
    for controller in quorum.controllers:
        if not controller.running():
            continue
        with controller.connect_controller(timeout=30) as connection:
            error, message = update_feature(connection, "kraft.version", level, validate_only)
        if error != NOT_CONTROLLER:
            return error, message
    raise AssertionError("no controller is active")
