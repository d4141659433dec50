import type { NewToken, TokenList } from "@tendon/protocol";
import { endpointAddresses } from "../endpoint-addresses.ts";
import { OperationError, UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, complain, plain, print, printJson, printTable } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface TokenOptions extends TargetOptions {
  readonly scope?: string[];
  readonly endpoint?: boolean;
  readonly device?: string[];
  readonly tag?: string[];
  readonly expires?: string;
  readonly json?: boolean;
}

const knownScopes = ["read", "call", "call:user", "provision", "endpoint", "admin"];

export async function createToken(name: string, options: TokenOptions): Promise<void> {
  if (options.endpoint === true && options.scope !== undefined)
    throw new UsageError("Use either --endpoint or --scope: --endpoint grants endpoint, read and call.");
  const scopes = options.scope ?? [...(options.endpoint === true ? ["endpoint"] : []), "read", "call"];
  const unknown = scopes.find((scope) => !knownScopes.includes(scope));
  if (unknown !== undefined) throw new UsageError(`Unknown scope ${unknown}. Use ${knownScopes.join(", ")}.`);
  if (options.expires !== undefined && Number.isNaN(Date.parse(options.expires))) {
    throw new UsageError("--expires must be a date or time, such as 2027-01-31 or 2027-01-31T12:00:00Z.");
  }
  const limited = options.device !== undefined || options.tag !== undefined;
  const target = readTarget(options);
  const created = await new GatewayClient(target).post<NewToken>("/tokens", {
    name,
    scopes,
    ...(limited ? { devices: { ids: options.device ?? [], tags: options.tag ?? [] } } : {}),
    ...(options.expires === undefined ? {} : { expiresAt: new Date(options.expires).toISOString() }),
  });
  if (options.json === true) {
    printJson(created);
    return;
  }
  // Only the token goes to stdout, so that it can be piped.
  if (options.endpoint === true) {
    const { programs, voice } = endpointAddresses(target.url);
    complain(`programs, such as mcp_pipe.py, connect to ${programs}`);
    complain(`voice servers connect to ${voice}`);
  }
  complain(`token ${created.id} for ${created.name} (${created.scopes.join(", ")}); it is shown only once:`);
  print(created.token);
}

export async function listTokens(options: TokenOptions): Promise<void> {
  const list = await new GatewayClient(readTarget(options)).get<TokenList>("/tokens");
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.tokens.length === 0) {
    print(`No tokens except the admin token. Create one with \`${ownCommand()} token create NAME\`.`);
    return;
  }
  const now = Date.now();
  await printTable(
    ["ID", "NAME", "SCOPES", "DEVICES", "EXPIRES", "LAST USED", "CREATED BY"],
    list.tokens.map(({ id, name, scopes, devices, expiresAt, ...token }) => [
      id,
      name,
      scopes.join(" "),
      devices === undefined
        ? "all"
        : [...(devices.ids ?? []), ...(devices.tags ?? []).map((tag) => `#${tag}`)].join(" "),
      expiresAt?.slice(0, 10) ?? "never",
      withAddress(ago(token.lastUsedAt, now), token.lastUsedFrom),
      withAddress(token.createdBy ?? "unknown", token.createdFrom),
    ]),
  );
}

function withAddress(text: string, from: string | null): string {
  return from === null ? text : `${text} from ${from}`;
}

/** Finds the token by id, or by a name that exactly one valid token has. */
export async function revokeToken(reference: string, options: TokenOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const { id, name } = await find(client, reference);
  await client.remove(`/tokens/${encodeURIComponent(id)}`);
  if (options.json !== true) print(`token ${id}${name === undefined ? "" : ` (${plain(name)})`} revoked`);
}

async function find(client: GatewayClient, reference: string): Promise<{ id: string; name?: string }> {
  const { tokens } = await client.get<TokenList>("/tokens");
  const meant = tokens.find(({ id }) => id === reference);
  if (meant !== undefined) return meant;
  const now = Date.now();
  const valid = tokens.filter(
    ({ name, expiresAt }) => name === reference && (expiresAt === null || Date.parse(expiresAt) > now),
  );
  const [only, ...others] = valid;
  if (others.length > 0) {
    const ids = valid.map(({ id }) => id).join(", ");
    throw new OperationError(
      `${valid.length} tokens are named ${plain(reference)}. Pass one of their ids: ${ids}`,
    );
  }
  // Without a match, the gateway reports that there is no such token.
  return only ?? { id: reference };
}
