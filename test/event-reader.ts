import type { IncomingMessage } from "node:http";
import { Inbox } from "./inbox.ts";
import { secretWatch } from "./secret-watch.ts";

export interface SeenEvent {
  readonly id: string | undefined;
  /** The `event:` line, if there is one. */
  readonly name: string | undefined;
  readonly type: string;
  readonly device: string | undefined;
  readonly data: { readonly [key: string]: unknown };
  readonly raw: string;
}

/** Reads Server-Sent Events as a browser does. */
export class EventReader {
  readonly response: IncomingMessage;
  readonly comments: string[] = [];
  readonly seen: SeenEvent[] = [];
  readonly ended: Promise<void>;
  readonly #inbox = new Inbox<SeenEvent>("event");
  #rest = "";

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding("utf8");
    response.on("data", (text: string) => this.#read(text));
    response.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      response.once("close", resolve);
    });
  }

  async next(): Promise<SeenEvent> {
    return await this.#inbox.take();
  }

  /** The next event of this type; earlier ones of other types are skipped. */
  async nextOf(type: string): Promise<SeenEvent> {
    for (;;) {
      const event = await this.next();
      if (event.type === type) return event;
    }
  }

  close(): void {
    this.response.destroy();
  }

  #read(text: string): void {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) this.#take(block);
  }

  #take(block: string): void {
    secretWatch.show(block, "an event");
    if (block.startsWith(":")) {
      this.comments.push(block);
      return;
    }
    const field = (name: string) =>
      block
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const body = JSON.parse(field("data") ?? "{}") as Partial<SeenEvent>;
    const event: SeenEvent = {
      id: field("id"),
      name: field("event"),
      type: body.type ?? "",
      device: body.device,
      data: body.data ?? {},
      raw: block,
    };
    this.seen.push(event);
    this.#inbox.put(event);
  }
}
