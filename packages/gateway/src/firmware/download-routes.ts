/**
 * Where boards fetch the image they were offered: a bare GET, whose path says all there is to say [FWU-4, FWU-5]. The
 * answer is one stream with its length; the firmware knows neither ranges nor chunks.
 */
import type { Readable } from "node:stream";
import { firmwareLimits } from "@tendon/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";

interface Download {
  readonly size: number;
  readonly content: Readable;
  /** Whether all of it has gone out. */
  done(whole: boolean): void;
}

export interface DownloadNeeds {
  readonly clock: Clock;
  /** `undefined` for an address that does not count; throws a TendonError when there are too many at once. */
  readonly open: (word: string, cut: () => void) => Promise<Download | undefined>;
}

export const firmwarePath = "/xiaozhi/firmware/";

export async function firmwareRoutes(http: FastifyInstance, { clock, open }: DownloadNeeds): Promise<void> {
  await http.register(async (routes) => {
    routes.get<{ Params: { word: string } }>(
      `${firmwarePath}:word`,
      { schema: { hide: true }, exposeHeadRoute: false },
      async (request, reply) => {
        const cut = () => void reply.raw.destroy();
        const download = await open(request.params.word, cut);
        // One answer for all that is wrong: nobody learns which part of an address was right.
        if (download === undefined)
          throw new TendonError("not_found", "there is no firmware at this address");
        send(reply, download, clock);
      },
    );
  });
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
  const end = (whole: boolean) => {
    if (over) return;
    over = true;
    deadline.cancel();
    stalled.cancel();
    done(whole);
  };
  const closed = () => {
    content.destroy();
    end(false);
  };
  // It may have hung up while its address was looked at: then nothing more is told of it.
  if (raw.destroyed || raw.socket?.destroyed !== false) {
    closed();
    return;
  }
  raw.once("close", closed);
  // Spelt as some modems look for it, letter by letter.
  raw.writeHead(200, {
    "Content-Length": size,
    "Content-Type": "application/octet-stream",
    "Cache-Control": "no-store",
    Connection: "close",
  });
  // Counted byte by byte: a board hangs up as soon as it has the last one, before the stream has come to its end.
  let left = size;
  content.on("data", (chunk: Buffer) => {
    const room = raw.write(chunk, (error) => {
      left -= error ? 0 : chunk.length;
      if (left === 0) end(true);
    });
    if (room) return;
    content.pause();
    raw.once("drain", () => content.resume());
  });
  content.once("end", () => raw.end());
  content.once("error", () => void raw.destroy());
}
