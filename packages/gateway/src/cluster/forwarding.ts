/**
 * HTTP requests that belong to another node: an older client's session, a picture of a call made there. They are
 * carried there whole and the answer comes back as it is written, so that a stream of events stays one.
 */
import { randomUUID } from "node:crypto";
import type { NatsLink } from "./nats-link.ts";
import type { Rpc } from "./rpc.ts";

export interface ForwardedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string | readonly string[] };
  readonly from: string;
  readonly body: Buffer;
}

export interface ForwardedAnswer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] };
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Nobody reads on. */
  readonly stop: () => void;
}

export interface AnswerSink {
  head(status: number, headers: ForwardedAnswer["headers"]): void;
  chunk(bytes: Buffer): void;
  /** `broken`: the other node went before it was done. */
  end(broken: boolean): void;
}

interface Asked extends Omit<ForwardedRequest, "body"> {
  readonly stream: string;
  readonly body: string;
}

type Piece =
  | { readonly kind: "chunk"; readonly data: string }
  | { readonly kind: "end"; readonly broken: boolean };

export interface ForwardingNeeds {
  readonly link: NatsLink;
  readonly rpc: Rpc;
  readonly onLost: (listener: (instance: string) => void) => () => void;
}

const topic = "http";
/** The other node only has to begin its answer within this; a stream may then stay open. */
const headMs = 310_000;

export class Forwarding {
  readonly #needs: ForwardingNeeds;

  constructor(needs: ForwardingNeeds) {
    this.#needs = needs;
  }

  /** Answers what other nodes forward to this one. */
  serve(handle: (request: ForwardedRequest) => Promise<ForwardedAnswer>): void {
    this.#needs.rpc.serveNode(topic, async (body) => {
      const { stream, body: text, ...request } = body as Asked;
      const answer = await handle({ ...request, body: Buffer.from(text, "base64") });
      // After the head: whoever asked knows what to do with the pieces then.
      setImmediate(() => void this.#send(stream, answer));
      return { status: answer.status, headers: answer.headers };
    });
  }

  /** `hungUp` is told the way to say that nobody reads on. */
  async forward(
    instance: string,
    request: ForwardedRequest,
    sink: AnswerSink,
    hungUp: (stop: () => void) => void,
  ): Promise<void> {
    const { link, rpc, onLost } = this.#needs;
    const stream = randomUUID();
    // What comes before the head waits for it.
    const early: Piece[] = [];
    let open = false;
    const over = (broken: boolean) => {
      unsubscribe();
      unlost();
      sink.end(broken);
    };
    const take = (piece: Piece) => {
      if (piece.kind === "chunk") sink.chunk(Buffer.from(piece.data, "base64"));
      else over(piece.broken);
    };
    const unsubscribe = link.subscribe(link.subject("stream", stream), (body) => {
      if (open) take(body as Piece);
      else early.push(body as Piece);
    });
    const unlost = onLost((lost) => {
      if (lost === instance && open) over(true);
    });
    hungUp(() => {
      link.publish(link.subject("stop", stream), {});
      unsubscribe();
      unlost();
    });
    try {
      const asked: Asked = { ...request, stream, body: request.body.toString("base64") };
      const head = (await rpc.askNode(instance, topic, asked, { timeoutMs: headMs })) as {
        readonly status: number;
        readonly headers: ForwardedAnswer["headers"];
      };
      sink.head(head.status, head.headers);
      open = true;
      for (const piece of early) take(piece);
    } catch (error) {
      unsubscribe();
      unlost();
      throw error;
    }
  }

  async #send(stream: string, answer: ForwardedAnswer): Promise<void> {
    const { link } = this.#needs;
    const subject = link.subject("stream", stream);
    const unsubscribe = link.subscribe(link.subject("stop", stream), () => answer.stop());
    // Base64 makes four characters of three bytes, and the rest of the message needs room too.
    const most = Math.floor(link.largestMessage / 2);
    let broken = false;
    try {
      for await (const chunk of answer.chunks) {
        for (let at = 0; at < chunk.length; at += most) {
          const data = Buffer.from(chunk.subarray(at, at + most)).toString("base64");
          link.publish(subject, { kind: "chunk", data } satisfies Piece);
        }
      }
    } catch {
      broken = true;
    }
    unsubscribe();
    link.publish(subject, { kind: "end", broken } satisfies Piece);
  }
}
