import type { NewWebhook, WebhookView } from "@tendon/protocol";
import { OperationError, UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, complain, plain, print, printJson, printTable } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface WebhookOptions extends TargetOptions {
  readonly json?: boolean;
}

interface AddOptions extends WebhookOptions {
  readonly type?: string[];
  readonly device?: string[];
  readonly tag?: string[];
  readonly name?: string;
}

export async function addWebhook(url: string, options: AddOptions): Promise<void> {
  const { type, device, tag, name } = options;
  const limited = device !== undefined || tag !== undefined;
  const made = await clientOf(options).webhooks.create({
    url,
    ...(type === undefined ? {} : { types: type }),
    ...(limited ? { devices: { ids: device ?? [], tags: tag ?? [] } } : {}),
    ...(name === undefined ? {} : { name }),
  });
  showSecret(made, options);
}

export async function listWebhooks(options: WebhookOptions): Promise<void> {
  const list = await clientOf(options).webhooks.list();
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.webhooks.length === 0) {
    print(`No webhooks. Add one with \`${ownCommand()} webhook add URL\`.`);
    return;
  }
  const now = Date.now();
  await printTable(
    ["ID", "NAME", "URL", "TYPES", "DEVICES", "STATE", "PENDING", "LAST DELIVERED"],
    list.webhooks.map((webhook) => [
      webhook.id,
      plain(webhook.name),
      plain(webhook.url),
      webhook.types.join(" "),
      devicesText(webhook),
      stateText(webhook),
      String(webhook.pending),
      ago(webhook.lastDeliveredAt ?? null, now),
    ]),
  );
}

/** Exits with 1 if the receiver did not accept it. */
export async function testWebhook(reference: string, options: WebhookOptions): Promise<void> {
  const client = clientOf(options);
  const result = await client.webhooks.test((await find(client, reference)).id);
  if (options.json === true) {
    printJson(result);
    if (!result.ok) process.exitCode = 1;
    return;
  }
  if (!result.ok) throw new OperationError(`The test failed: ${plain(result.error ?? "no answer")}`);
  print(`The receiver answered ${result.status} after ${result.durationMs} ms.`);
}

export async function listDeliveries(
  reference: string,
  options: WebhookOptions & { readonly limit: number },
): Promise<void> {
  const client = clientOf(options);
  const { id } = await find(client, reference);
  const list = await client.webhooks.deliveries(id, { limit: options.limit });
  if (options.json === true) printJson(list);
  else if (list.deliveries.length === 0) print("No events in the last 24 hours.");
  else
    await printTable(
      ["WHEN", "TYPE", "DEVICE", "STATE", "ATTEMPTS", "STATUS", "ERROR"],
      list.deliveries.map(({ at, type, device, state, attempts, status, error }) => [
        colours.dim(at.replace("T", " ").slice(0, 19)),
        type,
        plain(device ?? ""),
        state,
        String(attempts),
        String(status ?? ""),
        plain(error ?? ""),
      ]),
    );
}

export async function replayWebhook(
  reference: string,
  options: WebhookOptions & { readonly since: string },
): Promise<void> {
  if (Number.isNaN(Date.parse(options.since)))
    throw new UsageError("--since must be a date or time, such as 2027-01-31 or 2027-01-31T12:00:00Z.");
  const client = clientOf(options);
  const { id } = await find(client, reference);
  const result = await client.webhooks.replay(id, new Date(options.since).toISOString());
  if (options.json === true) printJson(result);
  else print(`${result.replayed} events are delivered again`);
}

export async function rotateSecret(reference: string, options: WebhookOptions): Promise<void> {
  const client = clientOf(options);
  showSecret(await client.webhooks.rotate((await find(client, reference)).id), options);
}

export async function setEnabled(
  reference: string,
  enabled: boolean,
  options: WebhookOptions,
): Promise<void> {
  const client = clientOf(options);
  const changed = await client.webhooks.change((await find(client, reference)).id, { enabled });
  if (options.json === true) printJson(changed);
  else print(`webhook ${changed.id} (${plain(changed.name)}) ${enabled ? "enabled" : "disabled"}`);
}

export async function removeWebhook(reference: string, options: WebhookOptions): Promise<void> {
  const client = clientOf(options);
  const { id, name } = await find(client, reference);
  await client.webhooks.delete(id);
  if (options.json !== true) print(`webhook ${id}${name === undefined ? "" : ` (${plain(name)})`} removed`);
}

function clientOf(options: WebhookOptions): GatewayClient {
  return new GatewayClient(readTarget(options));
}

/** Only the secret goes to stdout, so that it can be piped. */
function showSecret(webhook: NewWebhook, { json }: WebhookOptions): void {
  if (json === true) {
    printJson(webhook);
    return;
  }
  complain(`webhook ${webhook.id} for ${plain(webhook.name)}; its secret is shown only once:`);
  print(webhook.secret);
}

function devicesText({ devices }: WebhookView): string {
  if (devices === undefined) return "all";
  return plain([...(devices.ids ?? []), ...(devices.tags ?? []).map((tag) => `#${tag}`)].join(" "));
}

function stateText({ state, lastFailure, disabledReason }: WebhookView): string {
  const why = state === "disabled" ? disabledReason : state === "failing" ? lastFailure?.error : undefined;
  return why === undefined ? state : plain(`${state}: ${why}`);
}

async function find(client: GatewayClient, reference: string): Promise<{ id: string; name?: string }> {
  const { webhooks } = await client.webhooks.list();
  const meant = webhooks.find(({ id }) => id === reference);
  if (meant !== undefined) return meant;
  const named = webhooks.filter(({ name }) => name === reference);
  const [only, ...others] = named;
  if (others.length > 0) {
    const ids = named.map(({ id }) => id).join(", ");
    throw new OperationError(
      `${named.length} webhooks are named ${plain(reference)}. Pass one of their ids: ${ids}`,
    );
  }
  // Without a match, the gateway reports that there is no such webhook.
  return only ?? { id: reference };
}
