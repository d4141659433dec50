/**
 * The download route of boards: a GET without headers, so the path contains the authorisation [FWU-4, FWU-5]. The reply
 * is one stream with a length; the firmware supports neither ranges nor chunks.
 */
import type { Readable } from "node:stream";
import { firmwareLimits } from "@tendon/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";

interface Download {
  readonly size: number;
  readonly content: Readable;
  /** `complete`: all bytes were sent. */
  done(complete: boolean): void;
}

export interface DownloadRoutesDependencies {
  readonly clock: Clock;
  /** `undefined` for an invalid address; throws a TendonError if too many downloads are running. */
  readonly open: (token: string, abort: () => void) => Promise<Download | undefined>;
}

export const firmwarePath = "/xiaozhi/firmware/";

export function firmwareRoutes(http: FastifyInstance, { clock, open }: DownloadRoutesDependencies): void {
  http.get<{ Params: { token: string } }>(
    `${firmwarePath}:token`,
    { schema: { hide: true }, exposeHeadRoute: false },
    async (request, reply) => {
      const abort = () => void reply.raw.destroy();
      const download = await open(request.params.token, abort);
      // The same error in all cases, so that it does not reveal which part of an address was right.
      if (download === undefined) throw new TendonError("not_found", "there is no firmware at this address");
      send(reply, download, clock);
    },
  );
}

function send(reply: FastifyReply, { size, content, done }: Download, clock: Clock): void {
  reply.hijack();
  const { raw } = reply;
  let sent = raw.socket?.bytesWritten ?? 0;
  const deadline = clock.after(firmwareLimits.downloadMs.max, () => void raw.destroy());
  const stalled = clock.every(firmwareLimits.stalledMs.max, () => {
    const now = raw.socket?.bytesWritten ?? 0;
    if (now === sent) raw.destroy();
    sent = now;
  });
  let over = false;
  const end = (complete: boolean) => {
    if (over) return;
    over = true;
    deadline.cancel();
    stalled.cancel();
    done(complete);
  };
  const closed = () => {
    content.destroy();
    end(false);
  };
  // The board may have disconnected during `open`. Then no `close` event follows.
  if (raw.destroyed || raw.socket?.destroyed !== false) {
    closed();
    return;
  }
  raw.once("close", closed);
  // Some modems match these header names case-sensitively.
  raw.writeHead(200, {
    "Content-Length": size,
    "Content-Type": "application/octet-stream",
    "Cache-Control": "no-store",
    Connection: "close",
  });
  // Counts the bytes, because a board disconnects after the last one, before the stream ends.
  let left = size;
  content.on("data", (chunk: Buffer) => {
    const accepted = raw.write(chunk, (error) => {
      left -= error ? 0 : chunk.length;
      if (left === 0) end(true);
    });
    if (accepted) return;
    content.pause();
    raw.once("drain", () => content.resume());
  });
  content.once("end", () => raw.end());
  content.once("error", () => void raw.destroy());
}
