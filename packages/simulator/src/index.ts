/**
 * Simulated devices over real connections: for developing and testing a backend without hardware, for demonstrations,
 * and for testing a backend with faulty devices or large fleets.
 */
export { chime } from "./chime.ts";
export type { Clock } from "./clock.ts";
export {
  type BrokerEvent,
  brokerFaults,
  EndpointBroker,
  McpPipe,
  type PipeEvent,
  pipeFaults,
} from "./endpoint/endpoint.ts";
export {
  ConnectError,
  SimulatorError,
  ToolsFileError,
} from "./errors.ts";
export {
  type BoardOptions,
  type DeviceEvent,
  type DeviceHttp,
  Flash,
  type HttpOutcome,
  keepTalking,
  mqttTransport,
  type OpenOutcome,
  type ProvisionOptions,
  type ProvisionOutcome,
  provision,
  ToolImage,
  VirtualDevice,
  type VirtualDeviceOptions,
  webSocketTransport,
} from "./esp32/esp32.ts";
export { faultList, faultsNamed } from "./faults.ts";
export { firmwareSample } from "./firmware-sample.ts";
export { Fleet, type FleetCounters, fleetIdentity } from "./fleet.ts";
export {
  defaultSettings,
  FileStore,
  type FileStoreOptions,
  type HomeNotice,
  type HomeServer,
  type HomeServerOptions,
  type HomeState,
  MemoryStore,
  maxLineBytes,
  openHome,
  SimulatedHome,
  serveHome,
  streamInput,
} from "./home/home.ts";
export {
  HttpServer,
  type HttpServerKind,
  type HttpServerOptions,
  HttpTools,
  httpFaults,
  httpServerKinds,
} from "./http-server/http-server.ts";
export { checkToolsFile, loadToolsFile } from "./tools-file.ts";
export {
  type BoardConnection,
  serverFaults,
  type VoiceEvent,
  VoiceServer,
  type VoiceServerOptions,
} from "./voice-server/voice-server.ts";
