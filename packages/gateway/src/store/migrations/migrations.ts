/**
 * Every migration, in order. A released migration is never edited or moved; a later change is a new one. All missing
 * migrations of a database run in one transaction.
 */
import type { Transaction } from "kysely";
import type { Engine } from "../engine.ts";
import type { Tables } from "../tables.ts";
import { createDevices } from "./0001-devices.ts";
import { createHistory } from "./0002-history.ts";
import { createProvisioning } from "./0003-provisioning.ts";
import { lightenHistory } from "./0004-lighter-history.ts";
import { createEventStreams } from "./0005-event-streams.ts";
import { addPairingSources } from "./0006-pairing-sources.ts";
import { createFirmwareUpdates } from "./0007-firmware-updates.ts";
import { createVoiceAccounts } from "./0008-voice-accounts.ts";
import { createFirstAnswers } from "./0009-first-answers.ts";
import { createToolPins } from "./0010-tool-pins.ts";
import { linkCalls } from "./0011-call-lines.ts";
import { createConsoleSessions } from "./0012-console-sessions.ts";
import { createAudit } from "./0013-audit.ts";
import { addTokenOrigins } from "./0014-token-origins.ts";
import { addAuditPrincipals } from "./0015-audit-principals.ts";
import { addFirmwareTags } from "./0016-firmware-tags.ts";
import { createSignInCodes } from "./0017-sign-in-codes.ts";
import { createWebhooks } from "./0018-webhooks.ts";
import { createQueuedCalls } from "./0019-queued-calls.ts";
import { createHttpDevices } from "./0020-http-devices.ts";
import { addCallAskers } from "./0021-call-askers.ts";

export interface Migration {
  readonly name: string;
  readonly run: (tx: Transaction<Tables>, kind: Engine["kind"]) => Promise<void>;
}

/** The version of a schema is the number of migrations that have run. */
export const migrations: readonly Migration[] = [
  { name: "devices", run: createDevices },
  { name: "history", run: createHistory },
  { name: "provisioning", run: createProvisioning },
  { name: "lighter history", run: lightenHistory },
  { name: "event streams", run: createEventStreams },
  { name: "pairing sources", run: addPairingSources },
  { name: "firmware updates", run: createFirmwareUpdates },
  { name: "voice accounts", run: createVoiceAccounts },
  { name: "first answers", run: createFirstAnswers },
  { name: "tool pins", run: createToolPins },
  { name: "call lines", run: linkCalls },
  { name: "console sessions", run: createConsoleSessions },
  { name: "audit", run: createAudit },
  { name: "token origins", run: addTokenOrigins },
  { name: "audit principals", run: addAuditPrincipals },
  { name: "firmware tags", run: addFirmwareTags },
  { name: "sign-in codes", run: createSignInCodes },
  { name: "webhooks", run: createWebhooks },
  { name: "queued calls", run: createQueuedCalls },
  { name: "http devices", run: createHttpDevices },
  { name: "call askers", run: addCallAskers },
];
