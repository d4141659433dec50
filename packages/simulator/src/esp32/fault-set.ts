import type { Delivery, Fault, FaultHooks, FaultyDevice } from "./fault.ts";
import type { McpReply } from "./mcp-server.ts";
import type { Greeting } from "./transport.ts";

/** All faults of one device, applied one after the other. */
export class FaultSet {
  readonly #hooks: readonly FaultHooks[];

  constructor(faults: readonly Fault[], device: FaultyDevice) {
    this.#hooks = faults.map((fault) => fault.install(device));
  }

  has(trait: "noPong" | "ignoresMcp" | "oldFirmware"): boolean {
    return this.#hooks.some((hooks) => hooks[trait] === true);
  }

  get failedUpdate(): FaultHooks["failedUpdate"] {
    return this.#hooks.find((hooks) => hooks.failedUpdate !== undefined)?.failedUpdate;
  }

  greeting(greeting: Greeting): Greeting | undefined {
    let current: Greeting | undefined = greeting;
    for (const hooks of this.#hooks) {
      if (current !== undefined && hooks.greeting !== undefined) current = hooks.greeting(current);
    }
    return current;
  }

  run(moment: "booted" | "opened" | "closed"): void {
    for (const hooks of this.#hooks) hooks[moment]?.();
  }

  beforeCall(): Promise<void> | undefined {
    const delays = this.#hooks.flatMap((hooks) => hooks.beforeCall?.() ?? []);
    return delays.length === 0 ? undefined : Promise.all(delays).then(() => undefined);
  }

  deliver(reply: McpReply): readonly Delivery[] {
    let deliveries: readonly Delivery[] = [{ payload: reply.payload, afterMs: 0 }];
    for (const hooks of this.#hooks) deliveries = hooks.deliver?.(reply, deliveries) ?? deliveries;
    return deliveries;
  }
}
