import type {
  CallRecord,
  GuardedCall,
  StoredDevice,
  StoredEvent,
  StoredToken,
} from "../../src/store/store.ts";

export function deviceId(number: number): string {
  return `02:00:00:${[16, 8, 0].map((bits) => ((number >> bits) & 255).toString(16).padStart(2, "0")).join(":")}`;
}

export function device(number: number, more: Partial<StoredDevice> = {}): StoredDevice {
  return {
    id: deviceId(number),
    kind: "esp32",
    clientIdHash: "c".repeat(64),
    alias: `device-${number}`,
    aliasChosen: false,
    tags: ["kitchen", "first floor"],
    board: "bread-compact-wifi",
    firmware: "1.8.2",
    protocolVersion: "2024-11-05",
    transport: "mqtt",
    transportSetting: undefined,
    approval: "approved",
    serial: undefined,
    sealedKey: undefined,
    generation: 1,
    createdAt: 1_767_225_600_000,
    lapsesAt: undefined,
    lastSeenAt: undefined,
    lastDisconnectAt: undefined,
    lastDisconnectReason: undefined,
    ...more,
  };
}

export function token(number: number, more: Partial<StoredToken> = {}): StoredToken {
  return {
    id: `token-${number}`,
    name: `Token ${number}`,
    hash: number.toString(16).padStart(64, "0"),
    scopes: ["read", "call"],
    devices: undefined,
    createdAt: 1_767_225_600_000 + number,
    createdBy: "admin",
    createdFrom: "127.0.0.1",
    expiresAt: undefined,
    lastUsedAt: undefined,
    lastUsedFrom: undefined,
    revokedAt: undefined,
    ...more,
  };
}

export function call(number: number, more: Partial<CallRecord> = {}): CallRecord {
  return {
    id: `call-${number.toString().padStart(8, "0")}`,
    at: 1_767_225_600_000 + number,
    device: deviceId(number % 3),
    tool: "self.audio_speaker.set_volume",
    principal: "admin",
    outcome: "ok",
    queuedMs: 1,
    durationMs: 20,
    argumentDigest: "a".repeat(64),
    arguments: undefined,
    approval: undefined,
    node: undefined,
    event: undefined,
    asker: undefined,
    ...more,
  };
}

export function guarded(more: Partial<GuardedCall> = {}): GuardedCall {
  return {
    principal: "agent",
    device: deviceId(1),
    tool: "self.reboot",
    argumentDigest: "d1",
    targetsDigest: undefined,
    schemaDigest: "s1",
    ...more,
  };
}

export function event(sequence: number, more: Partial<StoredEvent> = {}): StoredEvent {
  return {
    stream: "one",
    sequence,
    type: "device.online",
    at: 1_767_225_600_000 + sequence,
    device: deviceId(sequence % 3),
    data: { number: sequence },
    ...more,
  };
}
