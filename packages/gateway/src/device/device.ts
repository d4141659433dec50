/**
 * SOUTH: from a socket to a session. A transport turns bytes into frames; a session speaks the device's protocol and
 * is its MCP client; the owner is told what comes of it. This room knows one device at a time: which devices exist,
 * what may be called and by whom is the services's business, and it is handed in.
 */
export { type DeviceClaim, readClaim } from "./admission.ts";
export { BoardSession } from "./board-session.ts";
export { CloseGrace } from "./close-grace.ts";
export type { DeviceInfo, DeviceSession, McpCapabilities, SessionOwner } from "./device-session.ts";
export { drainBoards } from "./drain-boards.ts";
export { FrameLog } from "./frame-log.ts";
export { withoutKey, withoutWords } from "./frame-masking.ts";
export type { AudioLane, DeviceIdentity, DeviceLink } from "./link.ts";
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
