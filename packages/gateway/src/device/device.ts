/**
 * SOUTH: connections and sessions of devices. A transport turns bytes into frames. A session speaks the device's
 * protocol, is its MCP client, and reports to its owner. This module handles one device at a time; the fleet, the
 * calls and the access rules are dependencies.
 */
export { type DeviceClaim, readClaim } from "./admission.ts";
export type { BoardDependencies } from "./board-dependencies.ts";
export { BoardSession } from "./board-session.ts";
export type { CallLane } from "./call-lanes.ts";
export { CloseGrace } from "./close-grace.ts";
export type { DeviceInfo, DeviceSession, McpCapabilities, SessionOwner } from "./device-session.ts";
export { drainBoards } from "./drain-boards.ts";
export { EndpointSession } from "./endpoint-session.ts";
export { FrameLog } from "./frame-log.ts";
export { withoutKey, withoutSpeech } from "./frame-masking.ts";
export { HttpDevice } from "./http-device.ts";
export { KnownResults } from "./known-results.ts";
export type { AudioChannel, DeviceIdentity, DeviceLink } from "./link.ts";
export type { Listing } from "./listing.ts";
export { Liveness } from "./liveness.ts";
export { type MqttConnection, type MqttListener, openMqttDevice } from "./mqtt.ts";
export type { Question, Relay } from "./relay.ts";
export type { RequestOptions } from "./requests.ts";
export { randomFirstId } from "./requests.ts";
export { initializeParams } from "./setup.ts";
export { StdioDevice } from "./stdio.ts";
export { openUdpSink, type UdpAddress } from "./udp-sink.ts";
export type { BoardHello, VoiceBoard, VoiceService } from "./voice-service.ts";
export { WebSocketDevices } from "./websocket.ts";
