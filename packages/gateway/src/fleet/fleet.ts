/**
 * Which devices exist and where they are connected: records, names, tags, presence, tool catalogues, drift of tools, and
 * their persistence. The newest connection of a device wins. Devices that other nodes hold are known here too, and are
 * reached over the cluster.
 */
export { refuseArguments } from "./argument-problems.ts";
export { Connections } from "./connections.ts";
export type { ApprovedPair, CredentialPair } from "./credential-pair.ts";
export { DeviceAdmin } from "./device-admin.ts";
export type {
  CallRunner,
  ControlAction,
  ControlOptions,
  ControlRunner,
  OutgoingCall,
  Sent,
} from "./device-handle.ts";
export { DevicePersistence } from "./device-persistence.ts";
export { type DeviceRecord, refuseProgram } from "./device-record.ts";
export { Drift } from "./drift/drift.ts";
export { FirmwareUpgrades, upgradeFailed, upgradeOverdue } from "./firmware-upgrades.ts";
export { KnownDevices } from "./known-devices.ts";
export { McpPassthrough } from "./mcp-passthrough.ts";
export type { Names, ToolAddress } from "./names.ts";
export { RemoteDevices } from "./remote-devices.ts";
export { ReplicaSync } from "./replica-sync.ts";
export { ToolFinder } from "./tool-finder.ts";
export { toolListOf } from "./tool-list.ts";
