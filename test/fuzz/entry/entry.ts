import type { Target } from "../target.ts";

/** A running gateway, as its callers and devices see it. */
export interface FuzzSite {
  readonly url: string;
  readonly mqttPort: number;
  readonly adminToken: string;
  /** May read and call one device. */
  readonly limitedToken: string;
}

/** One way into a running gateway. */
export interface Entry extends Pick<Target, "name" | "maxBytes" | "arbitrary"> {
  /** Connections that send at once. */
  readonly workers: number;
  seeds(site: FuzzSite): Promise<readonly Buffer[]> | readonly Buffer[];
  open(site: FuzzSite, worker: number): Promise<Sender>;
}

export interface Sender {
  /** Returns the outcome: `ok` or the code of the refusal. Throws if the gateway breaks a promise. */
  send(input: Buffer): Promise<string>;
  close(): void;
}

/** Resolves with `late` if nothing came. */
export async function soon<Value, Late>(
  promise: Promise<Value>,
  ms: number,
  late: Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
