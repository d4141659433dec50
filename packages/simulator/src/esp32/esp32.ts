/**
 * The virtual ESP32: a device that behaves on the wire like a board with the xiaozhi firmware, including its
 * bugs (unescaped errors, silent drops, replies out of order, no Close frames). It is
 * written from the firmware's observed behaviour and shares no code with the gateway, so that each of the two
 * tests the other. `VirtualDevice` is the whole of it for users; a transport is a replaceable part.
 */
export { type AudioVersion, packAudio } from "./audio-frame.ts";
export type { BoardOptions } from "./board.ts";
export { type ByteText, fromText, wire } from "./byte-text.ts";
export { printNumber } from "./cjson-number.ts";
export type { JsonValue } from "./cjson-print.ts";
export type { DeviceEvent } from "./device-events.ts";
export type { VirtualDeviceOptions } from "./device-options.ts";
export type { StateValue } from "./device-state.ts";
export type { Delivery, Fault, FaultHooks, FaultyDevice } from "./fault.ts";
export { Flash } from "./flash.ts";
export type { DeviceHttp, HttpOutcome } from "./http.ts";
export type { McpReply } from "./mcp-server.ts";
export { mqttTransport } from "./mqtt-transport.ts";
export {
  type ProvisionOptions,
  type ProvisionOutcome,
  provision,
} from "./ota.ts";
export {
  defineTool,
  printTool,
  ToolImage,
  type ToolProperty,
  type ToolReturn,
} from "./tool.ts";
export { maxDefinitionBytes } from "./tool-pages.ts";
export type { OpenOutcome } from "./transport.ts";
export { keepTalking, VirtualDevice } from "./virtual-device.ts";
export { webSocketTransport } from "./websocket-transport.ts";
