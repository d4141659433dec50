/**
 * Forwards HTTP requests that belong to another node, such as those of an MCP session or a photo upload. The request is
 * sent whole, and the reply comes back in chunks as it is written, so that event streams work.
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
  /** Stops the reply, because the client has disconnected. */
  readonly stop: () => void;
}

export interface AnswerSink {
  head(status: number, headers: ForwardedAnswer["headers"]): void;
  chunk(bytes: Buffer): void;
  /** `broken`: the other node was lost before the end. */
  end(broken: boolean): void;
}

interface RequestMessage extends Omit<ForwardedRequest, "body"> {
  readonly stream: string;
  readonly body: string;
}

type Piece =
  | { readonly kind: "chunk"; readonly data: string }
  | { readonly kind: "end"; readonly broken: boolean };

export interface ForwardingDependencies {
  readonly link: NatsLink;
  readonly rpc: Rpc;
  readonly onLost: (listener: (instance: string) => void) => () => void;
}

const topic = "http";
/** The time for the head of the reply; a stream may then stay open. */
const headMs = 310_000;

export class Forwarding {
  readonly #dependencies: ForwardingDependencies;

  constructor(dependencies: ForwardingDependencies) {
    this.#dependencies = dependencies;
  }

  /** Handles requests that other nodes forward to this one. */
  serve(handle: (request: ForwardedRequest) => Promise<ForwardedAnswer>): void {
    this.#dependencies.rpc.serveNode(topic, async (body) => {
      const { stream, body: text, ...request } = body as RequestMessage;
      const answer = await handle({ ...request, body: Buffer.from(text, "base64") });
      // Sent after the head, which the receiver needs first.
      setImmediate(() => void this.#send(stream, answer));
      return { status: answer.status, headers: answer.headers };
    });
  }

  /** Passes `onDisconnect` a function that stops the reply when the client disconnects. */
  async forward(
    instance: string,
    request: ForwardedRequest,
    sink: AnswerSink,
    onDisconnect: (stop: () => void) => void,
  ): Promise<void> {
    const { link, rpc, onLost } = this.#dependencies;
    const stream = randomUUID();
    // Chunks that arrive before the head wait for it.
    const early: Piece[] = [];
    let open = false;
    const end = (broken: boolean) => {
      unsubscribe();
      unsubscribeLost();
      sink.end(broken);
    };
    const take = (piece: Piece) => {
      if (piece.kind === "chunk") sink.chunk(Buffer.from(piece.data, "base64"));
      else end(piece.broken);
    };
    const unsubscribe = link.subscribe(link.subject("stream", stream), (body) => {
      if (open) take(body as Piece);
      else early.push(body as Piece);
    });
    const unsubscribeLost = onLost((lost) => {
      if (lost === instance && open) end(true);
    });
    onDisconnect(() => {
      link.publish(link.subject("stop", stream), {});
      unsubscribe();
      unsubscribeLost();
    });
    try {
      const message: RequestMessage = { ...request, stream, body: request.body.toString("base64") };
      const head = (await rpc.askNode(instance, topic, message, { timeoutMs: headMs })) as {
        readonly status: number;
        readonly headers: ForwardedAnswer["headers"];
      };
      sink.head(head.status, head.headers);
      open = true;
      for (const piece of early) take(piece);
    } catch (error) {
      unsubscribe();
      unsubscribeLost();
      throw error;
    }
  }

  async #send(stream: string, answer: ForwardedAnswer): Promise<void> {
    const { link } = this.#dependencies;
    const subject = link.subject("stream", stream);
    const unsubscribe = link.subscribe(link.subject("stop", stream), () => answer.stop());
    // Base64 turns three bytes into four characters, and the message has other fields too.
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
