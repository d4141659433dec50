/**
 * Stores what must survive a restart. Small files of the data folder are written under a temporary name and then
 * renamed, so that a crash leaves the old or the new version. Everything else is in one database: SQLite in the data
 * folder, or PostgreSQL. Callers see domain types only. Devices, tokens and approvals are durable when a promise
 * resolves. History, events and last-seen times are buffered in bounded memory and written within 100 ms, or when an
 * unavailable database answers again.
 */
export type { Approval, GuardedCall } from "./approval-row.ts";
export type { AuditEntry } from "./audit-entries.ts";
export { backUp } from "./backup.ts";
export type { CallRecord } from "./call-row.ts";
export { openDataFolder } from "./data-folder.ts";
export type { StoredDevice } from "./device-row.ts";
export { examineStorage } from "./examine-storage.ts";
export { FirmwareFiles } from "./firmware-files.ts";
export type { FirmwareImage } from "./firmware-images.ts";
export type { FirmwareUpdate, UpdateCounts } from "./firmware-updates.ts";
export { type LockedFolder, lockDataFolder } from "./folder-lock.ts";
export type { StoreProblem } from "./health.ts";
export { HeldLeases } from "./held-leases.ts";
export type { StoredHttpDevice } from "./http-devices.ts";
export type { IdempotencyRecord } from "./idempotency-records.ts";
export type { ImportFilter, ListedImport } from "./import-list.ts";
export type { ImportedDevice } from "./imported-devices.ts";
export { openStore, type Store, type StoreSettings } from "./open-store.ts";
export type { Pairing } from "./pairings.ts";
export type { NewQueuedCall, QueuedCallEnd, StoredQueuedCall } from "./queued-call-row.ts";
export { restoreBackup } from "./restore.ts";
export { writeRunFile } from "./run-file.ts";
export { isEmptySecret, readOrMakeNodeId, readOrMakeSecret, type SecretFile } from "./secret-file.ts";
export { asStartError } from "./store-error.ts";
export type { StoredEvent } from "./stored-events.ts";
export type { StoredToken } from "./tokens.ts";
export type { StoredPin } from "./tool-pins.ts";
export type { DeliveryAttempt, Gap, NewDelivery, StoredDelivery } from "./webhook-deliveries.ts";
export type { ReceiverState, StoredWebhook } from "./webhooks.ts";
