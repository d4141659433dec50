import type { Clock } from "../clock.ts";
import { Approvals } from "./approvals.ts";
import { ConsoleSessions } from "./console-sessions.ts";
import { Devices } from "./devices.ts";
import type { Database } from "./engine.ts";
import { ExposedNames } from "./exposed-names.ts";
import { FirmwareImages } from "./firmware-images.ts";
import { FirmwareUpdates } from "./firmware-updates.ts";
import { IdempotencyRecords } from "./idempotency-records.ts";
import { ImportedDevices } from "./imported-devices.ts";
import { Pairings } from "./pairings.ts";
import { Settings } from "./settings.ts";
import { SignInCodes } from "./sign-in-codes.ts";
import { Tokens } from "./tokens.ts";
import { ToolLists } from "./tool-lists.ts";
import { ToolPins } from "./tool-pins.ts";
import { VoiceAccounts } from "./voice-accounts.ts";

/** The tables whose writes are durable when the promise resolves, and that one transaction can change together. */
export interface StoreTransaction {
  readonly devices: Devices;
  readonly toolLists: ToolLists;
  readonly toolPins: ToolPins;
  readonly names: ExposedNames;
  readonly tokens: Tokens;
  readonly approvals: Approvals;
  readonly pairings: Pairings;
  readonly imports: ImportedDevices;
  readonly firmware: FirmwareImages;
  readonly firmwareUpdates: FirmwareUpdates;
  readonly idempotencyRecords: IdempotencyRecords;
  readonly settings: Settings;
  readonly voiceAccounts: VoiceAccounts;
  readonly consoleSessions: ConsoleSessions;
  readonly signInCodes: SignInCodes;
}

export function durableParts(db: Database, clock: Clock): StoreTransaction {
  return {
    devices: new Devices(db, clock),
    toolLists: new ToolLists(db, clock),
    toolPins: new ToolPins(db),
    names: new ExposedNames(db, clock),
    tokens: new Tokens(db),
    approvals: new Approvals(db, clock),
    pairings: new Pairings(db, clock),
    imports: new ImportedDevices(db, clock),
    firmware: new FirmwareImages(db),
    firmwareUpdates: new FirmwareUpdates(db, clock),
    idempotencyRecords: new IdempotencyRecords(db, clock),
    settings: new Settings(db, clock),
    voiceAccounts: new VoiceAccounts(db, clock),
    consoleSessions: new ConsoleSessions(db),
    signInCodes: new SignInCodes(db, clock),
  };
}
