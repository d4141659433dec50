/**
 * What must survive a restart. Small files of the data folder are written whole under another name and then renamed,
 * so that a crash leaves the old one or the new one, never half of either. Everything else is in one database:
 * SQLite in the data folder, or PostgreSQL. Callers see the domain's words only. Devices, tokens and approvals are
 * on the disk when a promise resolves; history, events and last-seen times are handed over at once, written within
 * a tenth of a second, and wait in bounded memory while the database is away.
 */
export type { Approval, GuardedCall } from "./approval-row.ts";
export type { CallRecord } from "./call-row.ts";
export { openDataFolder } from "./data-folder.ts";
export type { StoredDevice } from "./device-row.ts";
export { examineStorage } from "./examine-storage.ts";
export { FirmwareFiles } from "./firmware-files.ts";
export type { FirmwareImage } from "./firmware-images.ts";
export type { FirmwareUpdate, UpdateCounts } from "./firmware-updates.ts";
export type { FirstAnswer } from "./first-answers.ts";
export { type HeldFolder, holdDataFolder } from "./folder-lock.ts";
export type { StoreProblem } from "./health.ts";
export type { ImportedDevice } from "./imported-devices.ts";
export { openStore, type Store, type StoreSettings } from "./open-store.ts";
export type { Pairing } from "./pairings.ts";
export { announceGateway } from "./run-file.ts";
export { isEmptySecret, readOrMakeNodeId, readOrMakeSecret, type SecretFile } from "./secret-file.ts";
export type { StoredEvent } from "./stored-events.ts";
export type { StoredToken } from "./tokens.ts";
export type { StoredPin } from "./tool-pins.ts";
