/**
 * The values that a field can have, where the console's page offers them too. They are apart from the schemas: a page that
 * imports one of those loads the library that builds them.
 */

export const scopes = ["read", "call", "call:user", "provision", "endpoint", "admin"] as const;

export const auditActions = [
  "session.open",
  "session.close",
  "token.create",
  "token.revoke",
  "device.add",
  "device.approve",
  "device.provision",
  "device.import",
  "device.unimport",
  "device.rename",
  "device.tag",
  "device.transport",
  "device.revoke",
  "device.delete",
  "tool.accept",
  "approval.approve",
  "approval.deny",
  "firmware.add",
  "firmware.change",
  "firmware.delete",
  "webhook.create",
  "webhook.change",
  "webhook.delete",
  "webhook.rotate",
  "webhook.test",
  "webhook.replay",
  "settings.start",
] as const;
export type AuditAction = (typeof auditActions)[number];

/** The columns by which a list of devices can be sorted. */
export const deviceSortKeys = ["alias", "board", "transport", "tools", "battery", "lastSeen"] as const;
export type DeviceSortKey = (typeof deviceSortKeys)[number];
/** A column, with `-` before it for the descending order. */
export type DeviceOrder = DeviceSortKey | `-${DeviceSortKey}`;
