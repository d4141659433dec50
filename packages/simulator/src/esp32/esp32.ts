/**
 * The virtual ESP32: a device that behaves on the wire like a board with the xiaozhi firmware, down to what
 * that firmware gets wrong (unescaped errors, silent drops, replies out of order, no Close frames). It is
 * written from the firmware's observed behaviour and shares no code with the gateway, so that each of the two
 * tests the other. `VirtualDevice` is the whole of it for users; a transport is a replaceable part.
 */
export { type AudioVersion, packAudio } from "./audio-frame.ts";
export type { BackoffOptions } from "./backoff.ts";
export type {
  Battery,
  Board,
  BoardOptions,
  BoardSerial,
  CellularNetwork,
  EthernetNetwork,
  Network,
  Screen,
  WifiNetwork,
} from "./board.ts";
export { type ByteText, fromText, wire } from "./byte-text.ts";
export { printNumber } from "./cjson-number.ts";
export type { CjsonNode } from "./cjson-parse.ts";
export type { JsonValue } from "./cjson-print.ts";
export type { ListenMode } from "./conversation.ts";
export type {
  DeviceEvent,
  DeviceEventKind,
  DeviceEventOf,
  DisconnectReason,
  Phase,
  WaitOptions,
} from "./device-events.ts";
export type { DeviceTiming, TlsTrust, VirtualDeviceOptions } from "./device-options.ts";
export type { DeviceState, StateValue } from "./device-state.ts";
export type { Delivery, Fault, FaultHooks, FaultyDevice } from "./fault.ts";
export { Flash } from "./flash.ts";
export type { DeviceHttp, HttpAnswer, HttpBody, HttpOutcome } from "./http.ts";
export type { McpReply } from "./mcp-server.ts";
export type { MqttOptions, MqttSettings } from "./mqtt-settings.ts";
export { mqttTransport } from "./mqtt-transport.ts";
export { nodeHttp } from "./node-http.ts";
export {
  type ProvisionedTransport,
  type ProvisionOptions,
  type ProvisionOutcome,
  provision,
} from "./ota.ts";
export type { FirmwareOffer } from "./ota-reply.ts";
export {
  type BooleanProperty,
  defineTool,
  type IntegerProperty,
  type StringProperty,
  type Tool,
  type ToolArguments,
  type ToolCall,
  type ToolCallback,
  ToolImage,
  type ToolProperties,
  type ToolProperty,
  type ToolReturn,
} from "./tool.ts";
export type {
  AudioChannel,
  Greeting,
  OpenOutcome,
  SendOutcome,
  Transport,
  TransportFactory,
  TransportHost,
} from "./transport.ts";
export { keepTalking, type SpeakOptions, VirtualDevice } from "./virtual-device.ts";
export { type WebSocketOptions, webSocketTransport } from "./websocket-transport.ts";
