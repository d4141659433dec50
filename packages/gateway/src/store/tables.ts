/** The tables after the newest migration. Times are milliseconds since 1970; booleans are 1 and 0. */
import type { Generated } from "kysely";

export interface Tables {
  tendon_first_answers: IdempotencyRecordsTable;
  tendon_schema: SchemaTable;
  tendon_devices: DevicesTable;
  tendon_aliases: AliasesTable;
  tendon_names: NamesTable;
  tendon_tool_contents: ToolContentsTable;
  tendon_tool_lists: ToolListsTable;
  tendon_tool_pins: ToolPinsTable;
  tendon_tokens: TokensTable;
  tendon_settings: SettingsTable;
  tendon_calls: CallsTable;
  tendon_last_calls: LastCallsTable;
  tendon_approvals: ApprovalsTable;
  tendon_events: EventsTable;
  tendon_event_streams: EventStreamsTable;
  tendon_pairings: PairingsTable;
  tendon_imports: ImportsTable;
  tendon_firmware: FirmwareTable;
  tendon_voice_accounts: VoiceAccountsTable;
  tendon_firmware_updates: FirmwareUpdatesTable;
  tendon_console_sessions: ConsoleSessionsTable;
  tendon_sign_in_codes: SignInCodesTable;
  tendon_audit: AuditTable;
  tendon_webhooks: WebhooksTable;
  tendon_webhook_deliveries: WebhookDeliveriesTable;
  tendon_queued_calls: QueuedCallsTable;
  tendon_jobs: JobsTable;
  tendon_http_devices: HttpDevicesTable;
}

export interface HttpDevicesTable {
  id: string;
  url: string | null;
  headers: string | null;
  timeout_ms: number | null;
  created_at: number;
  created_by: string;
  owner: string | null;
  epoch: number;
  problem: string | null;
}

export interface QueuedCallsTable {
  /** In the order in which they were asked. */
  seq: Generated<number>;
  id: string;
  device: string;
  tool: string;
  /** The id of the token. */
  principal: string;
  principal_name: string;
  details: string;
  supersede_key: string | null;
  job: string | null;
  /** `queued`, `running`, `ended` until the history has it, then `finished`. */
  state: string;
  /** The run of the gateway that took or ended it. */
  run: string | null;
  queued_at: number;
  expires_at: number;
  started_at: number | null;
  finished_at: number | null;
  outcome: string | null;
  ending: string | null;
}

interface JobsTable {
  id: string;
  principal: string;
  created_at: number;
  total: number;
  /** The results of the calls that were not queued. */
  results: string;
}

export interface WebhooksTable {
  id: string;
  name: string;
  url: string;
  types: string;
  devices: string | null;
  enabled: number;
  disabled_reason: string | null;
  created_at: number;
  created_by: string;
  secret: string;
  old_secret: string | null;
  old_secret_until: number | null;
  /** The newest event that was compared with the filter, and when. */
  recorded: string;
  recorded_at: number;
  /** The run of the gateway that delivers; a new owner has a higher epoch. */
  owner: string | null;
  epoch: number;
  failures: number;
  failing_since: number | null;
  next_attempt_at: number | null;
  delivered_at: number | null;
  failed_at: number | null;
  failed_status: number | null;
  failed_error: string | null;
}

export interface WebhookDeliveriesTable {
  /** In the order of the events. */
  seq: Generated<number>;
  id: string;
  webhook: string;
  type: string;
  at: number;
  device: string | null;
  body: string;
  state: string;
  attempts: number;
  attempted_at: number | null;
  status: number | null;
  error: string | null;
  duration_ms: number | null;
}

export interface AuditTable {
  id: string;
  at: number;
  principal: string;
  action: string;
  target_type: string;
  target_id: string;
  target_name: string;
  source: string;
  detail: string | null;
  principal_id: string | null;
}

interface ConsoleSessionsTable {
  key: string;
  principal: string;
  credential: string;
  opened_at: number;
  used_at: number;
}

interface SignInCodesTable {
  key: string;
  principal: string;
  credential: string;
  expires_at: number;
}

interface VoiceAccountsTable {
  device: string;
  sealed: string;
  changed_at: number;
}

interface SchemaTable {
  version: number;
  name: string;
  applied_at: number;
}

export interface DevicesTable {
  id: string;
  kind: string;
  client_id_hash: string | null;
  alias: string;
  alias_chosen: number;
  tags: string;
  board: string | null;
  firmware: string | null;
  protocol_version: string | null;
  transport: string | null;
  transport_setting: string | null;
  approval: string;
  serial: string | null;
  sealed_key: string | null;
  generation: number;
  created_at: number;
  lapses_at: number | null;
  last_seen_at: number | null;
  last_disconnect_at: number | null;
  last_disconnect_reason: string | null;
}

interface AliasesTable {
  alias: string;
  device: string;
  current: number;
  given_at: number;
}

interface NamesTable {
  name: string;
  device: string;
  tool: string;
  given_at: number;
}

interface ToolContentsTable {
  digest: string;
  content: string;
  used_at: number;
}

interface ToolListsTable {
  device: string;
  digest: string;
  complete: number;
  problem: string | null;
  listed_at: number;
}

interface ToolPinsTable {
  device: string;
  tool: string;
  known: string;
  noted_at: number;
}

export interface TokensTable {
  id: string;
  name: string;
  hash: string;
  scopes: string;
  devices: string | null;
  created_at: number;
  created_by: string | null;
  created_from: string | null;
  expires_at: number | null;
  last_used_at: number | null;
  last_used_from: string | null;
  revoked_at: number | null;
}

interface SettingsTable {
  key: string;
  value: string;
  changed_at: number;
}

export interface CallsTable {
  /** In the order of writing. Retention by count uses it. */
  seq: Generated<number>;
  at: number;
  id: string;
  device: string;
  tool: string;
  principal: string;
  outcome: string;
  queued_ms: number;
  duration_ms: number;
  argument_digest: string;
  arguments: string | null;
  approval: string | null;
  node: string | null;
  /** The number of its `call.finished` event in the node's stream. */
  event: number | null;
  /** As JSON. */
  asker: string | null;
  /** The device's call before it; SQLite only. */
  earlier: Generated<number | null>;
}

/** SQLite only. */
interface LastCallsTable {
  device: string;
  seq: number;
}

export interface ApprovalsTable {
  id: string;
  principal: string;
  device: string;
  tool: string;
  argument_digest: string;
  targets_digest: string;
  schema_digest: string;
  arguments: string | null;
  state: string;
  /** A digest of a pending request. It is unique, so that two equal requests cannot be pending. */
  waiting_for: string | null;
  asked_at: number;
  expires_at: number;
  decided_at: number | null;
  decided_by: string | null;
  consumed_at: number | null;
}

interface EventStreamsTable {
  node: string;
  /** A random part of every event id, so that ids of another database are not mistaken for ours. */
  stream: string;
  /** The first free number. */
  next: number;
  /** The newest number of an event, stored as an event or as a call, that was deleted. */
  forgotten: number;
}

interface EventsTable {
  stream: string;
  sequence: number;
  type: string;
  at: number;
  device: string | null;
  data: string;
}

export interface PairingsTable {
  device: string;
  client_id_hash: string;
  code: string;
  challenge: string;
  details: string;
  attempts: number;
  created_at: number;
  expires_at: number;
  source: Generated<string>;
  proven_at: number | null;
}

export interface ImportsTable {
  device: string;
  serial: string | null;
  sealed_key: string | null;
  tags: string;
  imported_at: number;
}

export interface FirmwareTable {
  id: string;
  board: string;
  version: string;
  file: string;
  size: number;
  sha256: string;
  share: number;
  state: string;
  added_at: number;
  chip: string;
  project: string;
  forced: number;
  halted_reason: string | null;
  tags: string;
}

export interface FirmwareUpdatesTable {
  image: string;
  device: string;
  state: string;
  offers: number;
  due_at: number | null;
  reason: string | null;
  changed_at: number;
}

interface IdempotencyRecordsTable {
  principal: string;
  request_key: string;
  digest: string;
  run: string;
  answer: string | null;
  expires_at: number;
}
