import { randomBytes, randomInt } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

export interface OtaEndpointOptions {
  /** Boards have to be activated with a code before they get a token. */
  readonly activation?: boolean;
}

interface Account {
  token: string;
  readonly code: string;
  activated: boolean;
  /** The last Client-Id of the device. */
  client: string;
  asked: number;
}

/** The voice server's OTA endpoint: gives boards a token, or a code for activation first. */
export class OtaEndpoint {
  readonly #accounts = new Map<string, Account>();
  readonly #activation: boolean;
  readonly #url: () => string;
  /** The status of an overloaded server, which it sends instead. */
  failing: number | undefined;

  constructor(options: OtaEndpointOptions, url: () => string) {
    this.#activation = options.activation === true;
    this.#url = url;
  }

  accepts(device: string, authorization: string | undefined): boolean {
    const account = this.#accounts.get(device);
    return account !== undefined && authorization === `Bearer ${account.token}`;
  }

  accountOf(device: string): Readonly<Account> | undefined {
    return this.#accounts.get(device);
  }

  /** Activates the board with this code. */
  enter(code: string): boolean {
    const account = [...this.#accounts.values()].find((candidate) => candidate.code === code);
    if (account !== undefined) account.activated = true;
    return account !== undefined;
  }

  /** Invalidates all tokens. */
  changeTokens(): void {
    for (const account of this.#accounts.values()) account.token = newToken();
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const device = request.headers["device-id"];
    const client = request.headers["client-id"];
    if (this.failing !== undefined || typeof device !== "string" || typeof client !== "string") {
      response.writeHead(this.failing ?? 400).end("no");
      return;
    }
    const account = this.#accountFor(device, client);
    account.asked += 1;
    if (/\/activate$/.test(request.url ?? "")) {
      response.writeHead(account.activated ? 200 : 202).end("{}");
      return;
    }
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(this.#answer(account)));
  }

  #answer({ activated, code, token }: Account) {
    const settings = {
      server_time: { timestamp: Date.now(), timezone_offset: 0 },
      firmware: { version: "1.0.0", url: "" },
    };
    if (!activated)
      return {
        ...settings,
        activation: { code, message: `desk\n${code}`, challenge: "c", timeout_ms: 30_000 },
      };
    return { ...settings, websocket: { url: this.#url(), token, version: 1 } };
  }

  #accountFor(device: string, client: string): Account {
    const known = this.#accounts.get(device);
    if (known !== undefined) return known;
    const code = String(randomInt(100_000, 1_000_000));
    const account = { token: newToken(), code, activated: !this.#activation, client, asked: 0 };
    this.#accounts.set(device, account);
    return account;
  }
}

function newToken(): string {
  return `desk-${randomBytes(12).toString("hex")}`;
}
